"""Where does the loss come from? One cross-validated recalibration and the parts of the loss that follow from it."""
