"""Recommendation from ratings and from what people have in common: private models, and what is read off them."""
