"""The audit's catalogue: one module a rule, each with a ``RULE``. A new file here is a new rule."""
