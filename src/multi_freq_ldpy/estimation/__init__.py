"""From counts to frequencies with errors: estimates, intervals, post-processing, text and plots."""
