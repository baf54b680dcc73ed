"""Reports over time.

The package has protocols with memory, clients and panels that report repeatedly, and estimates over
several rounds.
"""
