"""Running episodes: processes, clusters, rows on disk."""
