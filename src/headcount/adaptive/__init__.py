"""The adaptive estimator: from an activity histogram and noisy counts to item counts with intervals."""
