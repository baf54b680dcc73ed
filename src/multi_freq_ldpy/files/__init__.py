"""Atomic writes of files, locks between processes, and progress on a terminal."""
