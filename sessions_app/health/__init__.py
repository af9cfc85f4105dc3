"""Whether this process can do its work: one answer, made of a few bounded questions."""
