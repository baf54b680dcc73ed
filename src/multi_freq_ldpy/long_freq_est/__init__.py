"""The paper's functions for one attribute over time."""
