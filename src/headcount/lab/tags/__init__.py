"""Topic models and graph ranking of tag assignments in memory, without privacy."""
