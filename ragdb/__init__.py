"""ragdb: a RAG database inside PostgreSQL."""

__version__ = "0.1.0"
