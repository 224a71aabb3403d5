"""Private selection of items, contexts and tags that have no public list."""
