"""Beliefs: weighted particles, their resampling, and the filters that move them from step to step."""
