"""Comparing protocols on data, and planning a collection."""
