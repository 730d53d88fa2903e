"""Bounds on the value of a belief, found from the model alone: `find_bounds(model)` picks the best pair that it allows."""

from airoas.bounds.find import NAMED, find_bounds, find_plans
from airoas.bounds.finite.enumeration import Enumeration, enumerate_model
from airoas.bounds.finite.values import blind_values, fib_q_values, mdp_q_values, mdp_values
from airoas.bounds.sides import ILLEGAL, Bounds

__all__ = [
    "ILLEGAL",
    "NAMED",
    "Bounds",
    "Enumeration",
    "blind_values",
    "enumerate_model",
    "fib_q_values",
    "find_bounds",
    "find_plans",
    "mdp_q_values",
    "mdp_values",
]
