"""Estimation: frequencies with errors, intervals, post-processing, text and plots."""
