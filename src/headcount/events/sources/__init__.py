"""Sources of rows: files, databases, frames and the web."""
