"""From what readers found to a team's scenario file: fill it, say where each value came from, show what drifted."""
