"""Bounds of finite models: enumeration, value iteration, alpha vectors."""
