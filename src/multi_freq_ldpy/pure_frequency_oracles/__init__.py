"""The function interface of the paper for one attribute.

NAME_Client on the device, NAME_Aggregator at the server.
"""
