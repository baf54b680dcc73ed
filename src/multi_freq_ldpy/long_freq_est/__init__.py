"""The functions for one attribute over time."""
