"""Bind chapters, run them, and write the packet.

Only jsonschema is imported here, before nbformat does: papermill and nbconvert load only when a packet is asked for.
"""

from importlib import import_module

from afterload.uri_grammar import without_uri_grammar

with without_uri_grammar():
    import_module("jsonschema")
