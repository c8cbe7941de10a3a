"""A corpus as one file: written by `ragdb export`, read by `ragdb import`."""
