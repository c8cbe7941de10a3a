"""Pages for a browser over the functions of the database, each under the role of who asks."""
