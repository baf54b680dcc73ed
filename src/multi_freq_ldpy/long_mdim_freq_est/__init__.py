"""The paper's functions for several attributes over time."""
