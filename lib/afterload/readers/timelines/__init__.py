"""Formats of incident timelines, one module each: its ``FORMAT`` is found by itself."""
