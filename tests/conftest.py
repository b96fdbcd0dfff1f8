"""Which examples the property tests draw."""

import os

from hypothesis import settings

# A green run must stay green until the code changes: `make test` draws the same examples each time, `make fuzz` new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("new", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("AFTERLOAD_EXAMPLES", "same"))
