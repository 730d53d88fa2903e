"""Policies that are as good as we could make them, each for one of the models without hints, with all that we know of it.

Each module has `Reference`, a planner, and where a belief can be kept exactly `Filter`. `python -m benchmarks.strangers` plays them.
"""
