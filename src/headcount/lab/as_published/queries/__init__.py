"""CIM and its coupled records, as the thesis runs them."""
