"""The functions of the paper, and the code that they share."""
