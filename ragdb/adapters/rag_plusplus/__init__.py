"""RAG++ under its own names: ``rag_plusplus`` in an import is ``ragdb.adapters.rag_plusplus``.

The slices come from a Graph Kernel, which is ``ragdb serve``; retrievers and resolvers work on a
database. Nothing is decided here: every slice, anchor and provenance is what a function of ragdb
returns.
"""
