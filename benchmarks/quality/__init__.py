"""Errors, recall and coverage of results on public logs; nothing here is private."""
