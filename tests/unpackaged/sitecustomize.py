"""In the path of the processes that tests start: the package of the default model is not found.

Whatever installs a database would load it, which takes two seconds.
"""

from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec

from_path = importlib.util.find_spec


def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
    return None if name == "wordllama" else from_path(name, package)


importlib.util.find_spec = find_spec
