"""Commands beside those of :mod:`afterload.cli`, a module for each group of them."""
