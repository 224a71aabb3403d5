"""The experiments of papers: what they claim, written down before anything is run, and what we measure."""
