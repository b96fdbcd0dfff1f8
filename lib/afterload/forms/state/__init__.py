"""The state of a form on a scenario file: plain traits, no widgets, so that all of it runs without a kernel."""

from afterload.forms.state.form import FormState

__all__ = ["FormState"]
