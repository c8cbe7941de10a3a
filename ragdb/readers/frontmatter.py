"""YAML front matter: the lines between two `---` at the top of a Markdown file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from ragdb.readers.document import ReadError, storable

_MAX_LENGTH = 65_536
_MAX_ALIASES = 16
_OPENS = re.compile(r"---[ \t]*\n")
_CLOSES = re.compile(r"^(?:---|\.\.\.)[ \t]*$\n?", re.MULTILINE)
_KEY = re.compile(r"\s*(?:#.*\n\s*)*[\w\"'-][^\n]*:(?:\s|$)")


class _Loader(yaml.SafeLoader):
    """Safe, with few aliases (they expand without bound), and only true and false are booleans."""

    aliases = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            self.aliases += 1
            if self.aliases > _MAX_ALIASES:
                raise yaml.YAMLError(f"more than {_MAX_ALIASES} aliases")
        return super().compose_node(parent, index)


# otherwise `language: no` is not Norwegian but false
_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag != "tag:yaml.org,2002:bool" or first in "tTfF"
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def split(text: str) -> tuple[Mapping[str, Any], str]:
    """The front matter, empty where there is none, and the text after it.

    Raises ReadError `front_matter` when it is there and cannot be read.
    """
    opens = _OPENS.match(text)
    closes = _CLOSES.search(text, opens.end(), opens.end() + _MAX_LENGTH) if opens else None
    # a text may also begin with a thematic break
    if opens is None or closes is None or not _KEY.match(text, opens.end(), closes.start()):
        return {}, text
    try:
        value = yaml.load(text[opens.end() : closes.start()], _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(getattr(error, "problem", None) or error).splitlines()[0][:80]
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 2})" if mark else ""
        raise ReadError(
            "front_matter",
            f"its front matter is not YAML{line}: {reason}",
            "correct the lines between the two --- at its top",
        ) from None
    if not isinstance(value, Mapping):
        return {}, text
    return storable(value), text[closes.end() :]
