"""From columns of a log to compact codes: casts, id tables, and passes over batches."""
