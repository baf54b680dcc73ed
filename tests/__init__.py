"""Tests of the package. All checks run on one table of mechanisms."""
