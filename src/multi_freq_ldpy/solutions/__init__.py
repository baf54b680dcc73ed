"""Solutions for several attributes: records are reported with any protocol for each attribute."""
