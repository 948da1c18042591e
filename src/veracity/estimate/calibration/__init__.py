"""Can the probabilities be taken at face value? Tests, slope, verdict, and the correction that follows from it."""
