"""The collection service: it takes reports over HTTP and counts each exactly once."""
