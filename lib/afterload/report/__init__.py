"""Bind chapters, run them, and write the packet.

Nothing is imported here: papermill and nbconvert load only when a packet is asked for.
"""
