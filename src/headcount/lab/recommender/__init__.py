"""Recommendation from ratings in memory, without privacy: the baseline of private methods and attacks."""
