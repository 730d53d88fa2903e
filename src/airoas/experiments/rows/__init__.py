"""What is kept of episodes: rows, as lines while a run goes on and packed when it is done."""
