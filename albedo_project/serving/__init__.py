"""The web server of `serve`: daphne with backpressure, body limits and deadlines of its own."""
