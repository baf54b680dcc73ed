"""Files that appear completely or not at all, locks between processes, progress on a terminal."""
