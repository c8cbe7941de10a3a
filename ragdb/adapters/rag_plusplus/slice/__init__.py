"""Slices and their anchors, as ``rag_plusplus.slice`` has them."""

from ragdb.adapters.rag_plusplus.slice.anchor import AnchorResolver, AutoAnchorResolver
from ragdb.adapters.rag_plusplus.slice.client import SliceClient
from ragdb.adapters.rag_plusplus.slice.export import PolicyRef, SliceBatch, SliceExport

__all__ = [
    "AnchorResolver",
    "AutoAnchorResolver",
    "PolicyRef",
    "SliceBatch",
    "SliceClient",
    "SliceExport",
]
