"""The tests: one table of cases, one function for each check."""
