"""Tables of every supported kind, and the labels in them."""
