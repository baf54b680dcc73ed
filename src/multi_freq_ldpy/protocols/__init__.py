"""The protocols for one attribute, a family a file."""
