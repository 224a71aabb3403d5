"""What a release says, searched, sorted, compared and read: pure functions of released tables, without the web."""
