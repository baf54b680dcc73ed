"""The estimators of the paper's function interface."""
