"""Tags that people gave to resources: graph ranking, topics, the published private release, and a proven one."""
