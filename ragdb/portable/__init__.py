"""A corpus as one file, by `ragdb export` and `ragdb import`, or moved, by `ragdb corpus move`."""
