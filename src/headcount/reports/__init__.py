"""Pages and plots, made from released tables alone."""
