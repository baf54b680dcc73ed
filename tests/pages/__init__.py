"""Tests of the pages in Chromium: ``make pages``."""
