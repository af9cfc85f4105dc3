"""Small programs for those who work on the project; none is part of the product."""
