"""Ingestion: files, folders, URLs and resources become documents of a corpus."""
