"""Bounds learned by simulation: grids and forests."""
