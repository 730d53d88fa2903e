"""docs/results.md and README's table, from the rows under results/: `python -m tools.results_page`."""
