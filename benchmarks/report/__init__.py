"""The rows, tables, plots and page that ``python -m benchmarks`` writes."""
