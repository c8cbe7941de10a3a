"""Slices and anchors, as ``rag_plusplus.slice`` has them, imported where they are asked for."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
MODULES = {
    "AnchorResolver": "anchor",
    "AutoAnchorResolver": "anchor",
    "SliceClient": "client",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{MODULES.get(name, 'export')}")
    return getattr(module, name)
