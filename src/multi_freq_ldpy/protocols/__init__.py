"""The protocols for one attribute, one family per file."""
