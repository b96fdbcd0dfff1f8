"""Instances in service at a time, from the launches that a model admits."""

import numpy as np


def in_service_by(launches, t_s):
    """Instances in service ``t_s`` seconds after the first request was tried."""
    launched_by = t_s - launches.start_delay_s
    # A hair of slack: 1,497.5 + 60 - 60 must still count the last instance.
    requests = int(np.searchsorted(launches.times_s, launched_by + 1e-9 * max(1.0, t_s), side="right"))
    return int(launches.instances[requests - 1]) if requests else 0
