"""The HTTP server of `ragdb serve`: the functions of the database as routes, by role."""
