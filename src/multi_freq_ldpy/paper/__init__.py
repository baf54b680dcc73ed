"""The functions of the paper, and what they share."""
