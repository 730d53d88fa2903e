"""Annealed importance resampling: tempered sequential Monte Carlo from a belief to its posterior."""
