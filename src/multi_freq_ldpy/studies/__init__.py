"""Comparison of protocols on data, and planning of a collection."""
