"""Policies over beliefs, found from the simulator alone: learned beforehand, or improved by rollouts from the belief at hand."""
