"""GS-R, GS-S and GS: counts smoothed in groups of columns."""
