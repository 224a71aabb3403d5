"""Many counting queries over a public grid, answered under one ε that can cover whole groups of people."""
