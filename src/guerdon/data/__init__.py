"""Rows of any layout as one typed row, what a check of a file finds, and overlap with what a policy is measured by."""
