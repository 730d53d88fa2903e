"""Results, and what a planner believed and why it chose, as one HTML file that opens from disk without network."""
