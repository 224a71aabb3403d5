"""Accuracy of methods: metrics, trials on logs whose true counts are known, and grids of trials."""
