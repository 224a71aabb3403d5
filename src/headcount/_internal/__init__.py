"""What every layer may use and no user imports: kernels, threads, scratch folders, optional packages."""
