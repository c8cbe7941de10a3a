"""The database: which one is meant, the embedded server, the schema and the manual."""
