"""The catalogue: one module a change, each with a ``CHANGE``. A new file here is a new change."""
