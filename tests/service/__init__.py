"""Tests of the collection service."""
