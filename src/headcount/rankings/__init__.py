"""Methods that release a ranking without the counts behind it."""
