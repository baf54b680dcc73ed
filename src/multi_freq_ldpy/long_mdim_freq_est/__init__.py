"""The functions for several attributes over time."""
