"""The Spark engine: users are dealt to partitions, the local kernels measure each in its task, Spark adds up.

Nothing is imported here: what Spark's workers import must first see that the surroundings are right.
"""
