"""What rows say: statistics, tables, plots."""
