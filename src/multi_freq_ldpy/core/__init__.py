"""Foundations: channels, tallies, exact probabilities, randomness and validation."""
