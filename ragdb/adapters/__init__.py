"""Retrievers of ragdb in the shapes of other libraries, imported where they are asked for."""
