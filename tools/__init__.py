"""What makes the pages under docs/ from rows and data: `make pages`, `make pictures`."""
