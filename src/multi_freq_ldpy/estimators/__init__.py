"""The paper's estimators as functions."""
