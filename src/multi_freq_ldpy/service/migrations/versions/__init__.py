"""One module per step. A step never changes after its release."""
