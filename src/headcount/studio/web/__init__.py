"""The studio's HTTP shapes: templates, assets, JSON bodies and errors."""
