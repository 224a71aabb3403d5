"""The local engine: compiled kernels over the users' histories, on several threads."""
