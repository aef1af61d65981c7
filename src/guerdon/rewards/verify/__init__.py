"""Verifiers: rewards that check an answer and say what they found."""
