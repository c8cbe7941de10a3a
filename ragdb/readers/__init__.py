"""Readers: the bytes of a file become documents with text, pages, headings and links."""
