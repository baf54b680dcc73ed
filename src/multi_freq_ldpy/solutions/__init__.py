"""Several attributes: the verbs of a protocol over records, with any protocol for each
attribute.
"""
