"""How a user's method becomes machine code: kernels, fingerprints, the cache on disk."""
