"""What an experiment is, and how its TOML file is read."""
