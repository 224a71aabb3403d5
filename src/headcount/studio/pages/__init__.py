"""Pages for people: HTML, each module with its ``ROUTERS``."""
