"""How good released counts are: metrics, trials of methods on a log whose truth is known, and grids of them."""
