"""Topics and graph ranking of tag assignments in memory, with no protection: what published methods build on."""
