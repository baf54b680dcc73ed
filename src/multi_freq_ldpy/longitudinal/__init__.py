"""Many reports over time.

Protocols that remember, devices and panels of users that report again and again, rounds combined.
"""
