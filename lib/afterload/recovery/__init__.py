"""The one home of every quantity of a recovery: rates, caps, admission, the coupled system and its result."""
