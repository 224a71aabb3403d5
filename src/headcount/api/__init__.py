"""The public Python functions, with the words of the command line."""
