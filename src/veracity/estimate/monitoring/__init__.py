"""Are forecasts in use still calibrated? E-values, the detector of changes, and loss without labels."""
