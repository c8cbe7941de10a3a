"""Contracts in files: what is given to the database, and what their sources name."""
