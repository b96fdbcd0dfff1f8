"""Many teams at once: what each reports, what they share, and the page over all of them."""
