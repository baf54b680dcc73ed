"""What the functions of the paper share."""
