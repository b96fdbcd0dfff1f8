"""Views of a form's state: widgets, and nothing that computes."""
