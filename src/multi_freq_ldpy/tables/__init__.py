"""Tables of every kind, and the labels in them."""
