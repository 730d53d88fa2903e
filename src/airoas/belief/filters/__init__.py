"""Filters: the belief after an action and an observation."""
