"""Packets for many teams: inputs, what is still to be done, the run, and what it leaves."""
