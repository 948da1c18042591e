"""Which model is better? Paired differences, their components, and intervals of dependent cases."""
