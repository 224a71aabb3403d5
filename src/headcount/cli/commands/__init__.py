"""The commands that read logs and releases, one file each."""
