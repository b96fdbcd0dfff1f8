"""Interactive use: the state of a form, which knows no widgets, and views of it, which compute nothing."""
