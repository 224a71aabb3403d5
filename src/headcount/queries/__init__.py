"""Many counting queries over a public grid of cells, answered under one ε that can cover whole groups of people."""
