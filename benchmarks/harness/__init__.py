"""What every benchmark shares: logs, child processes, measurements, saved results."""
