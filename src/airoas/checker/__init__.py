"""`airoas check`: what is missing, inconsistent or cannot be compiled in a model."""
