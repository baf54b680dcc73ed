"""Several attributes, as functions."""
