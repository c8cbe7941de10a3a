"""The database: which one is meant, the embedded server, the schema and the manual.

Only modules here hold SQL of their own: they run before there is a schema, or make it.
"""
