"""The paper's functions for one attribute.

``NAME_Client`` runs on the device of a user. ``NAME_Aggregator`` runs at the aggregator.
"""
