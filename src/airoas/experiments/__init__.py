"""Many episodes: running them and saying honestly how they went."""
