"""Models without a hint: the required methods, `is_terminal` and `legal`, as a user would write them. Planners are judged on them."""
