"""What rows say: statistics, tables, plots, and returns adjusted by a control variate."""
