"""What is measured of guerdon alone: each prints what it found as one line of JSON (`speed.job`)."""
