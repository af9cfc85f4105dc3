"""The terminal client: a guest of the API like any other. It asks the database nothing."""
