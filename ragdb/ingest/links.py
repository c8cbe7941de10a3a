"""Hyperlinks as written, to the uris of what they name."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote, urldefrag, urljoin

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MAX_TARGET = 2000


def targets(uri: str, written: str) -> tuple[str, ...]:
    """The uris that a link in the document `uri` may mean, without query (local) and fragment.

    A path is relative to the document, one that begins with `/` to the top folder of the uri. Local
    links to `.html` may also mean the `.md` that a site is built from, as in mdBook. Nothing for a
    link within the document, one that leaves the top folder and one that is not a page (`mailto:`)
    or not an address (`http://[`).
    """
    try:
        return _targets(uri, written)
    except ValueError:
        return ()


def _targets(uri: str, written: str) -> tuple[str, ...]:
    written = "".join(written.split()) if "\n" in written else written.strip()
    if not written or len(written) > _MAX_TARGET or written.startswith("#"):
        return ()
    if _is_url(uri):
        joined = urljoin(uri.split("#")[0], written)
        return (urldefrag(joined).url,) if _is_url(joined) else ()
    if _SCHEME.match(written) or written.startswith("//"):
        return (urldefrag(written).url,) if _is_url(written) else ()
    path = unquote(re.split("[?#]", written, maxsplit=1)[0])
    if not path or "\0" in path:
        return ()
    file = uri.split("#")[0]
    folder = posixpath.dirname(file)
    if path.startswith("/"):
        folder, path = file.split("/")[0] if folder else "", path.lstrip("/")
    target = posixpath.normpath(posixpath.join(folder, path))
    if target in (".", "..") or target.startswith("../"):
        return ()
    if target.endswith((".html", ".htm")):
        return target, posixpath.splitext(target)[0] + ".md"
    return (target,)


def _is_url(text: str) -> bool:
    return text[:8].lower().startswith(("http://", "https://"))
