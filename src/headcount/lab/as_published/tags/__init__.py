"""PriTop and tag suppression as the thesis runs them."""
