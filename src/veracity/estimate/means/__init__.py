"""How probable was what happened? Scores and generalized means: reported, expected, measured, published."""
