"""Contribution bounds of counts: per item, per item and context, and of users by activity."""
