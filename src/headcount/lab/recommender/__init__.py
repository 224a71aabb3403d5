"""Recommendation from ratings in memory, with no protection: what private methods and attacks are measured on."""
