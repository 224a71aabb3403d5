"""Files as sources: Parquet, delimited text, JSON lines, Arrow and packed stores."""
