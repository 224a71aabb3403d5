"""Time, CPU and memory of Headcount alone; each module is run by itself."""
