"""The lab in Python, with the words of the command line."""
