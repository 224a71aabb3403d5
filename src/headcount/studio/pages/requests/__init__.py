"""Pages about requests: plan, ask, follow and review."""
