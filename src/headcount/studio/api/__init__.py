"""The API for programs: each module has ``ROUTERS``, whose routes lie under /api/v1 and answer with JSON."""
