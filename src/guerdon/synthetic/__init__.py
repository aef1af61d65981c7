"""Preference sets whose truth is known: items with a true quality, and labellers whose every probability is exact."""
