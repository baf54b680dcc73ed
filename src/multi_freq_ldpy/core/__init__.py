"""Foundations: channels, tallies, exact probabilities, randomness, validation."""
