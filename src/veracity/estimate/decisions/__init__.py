"""Should I act on it? Curves over thresholds, costs, other prevalences, and which model is better for whom."""
