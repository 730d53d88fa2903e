"""What a model is: the methods that the library calls, and how plain Python becomes states in rows of numbers."""
