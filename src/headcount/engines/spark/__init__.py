"""The Spark engine: people are dealt to partitions, each is measured by the local kernels inside its task, Spark adds up.

Nothing is imported here: what Spark's workers import must first see that the surroundings are right.
"""
