"""How good a reward model is: one file per benchmark or diagnostic, each a function of rows and of whoever scores."""
