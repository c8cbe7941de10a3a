"""The sources that a contract declares: what is read from where, into which corpus."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragdb.contracts.contract_file import Json
from ragdb.readers.limits import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ragdb.client._generated.rows import ListContractsRow
    from ragdb.client.client import Client
    from ragdb.ingest.source import Found, Source
    from ragdb.readers.document import ReadError


@dataclass(frozen=True)
class DeclaredSource:
    """A source node: what is read from where, into which corpus, cut how."""

    name: str
    corpus: str
    kind: str
    uri: str
    options: Json
    """Those of `ragdb.ingest.options`: source_name, media_type and the chunking."""
    resource: str = ""
    """Of kind mcp: address or glob of its resources; `uri` is the server."""

    def find(self, folder: Path, *, allow_private: bool = False) -> Found:
        """What a source is now that is of no MCP server.

        Local files are named by their way from the contract's folder.
        """
        from ragdb.ingest import source, sources
        from ragdb.readers.document import ReadError

        if self.kind == "s3" and re.search(r"[*?\[]", self.uri):
            try:
                return sources.find(_remote(self.uri, allow_private))
            except ReadError as error:
                return source.Found(failed=[(self.uri, error)])
        if self.kind != "local":
            return sources.find([self.uri])
        base, glob = self._parts()
        # joined as text: to pathlib ./- is the hyphen that stands for standard input
        found = sources.find(
            [os.path.join(folder, base)], glob=glob or None, recursive=_is_deep(glob)
        )
        inside = folder.resolve()
        if any(one.root and not one.root.is_relative_to(inside) for one in found.sources):
            return source.Found(failed=[(self.uri, _outside())])
        found.sources = [_named(one, base, bool(glob)) for one in found.sources]
        origin = f"{source.CONTRACT_SOURCE}{self.name}"
        found.sources = [replace(one, origin=origin) for one in found.sources]
        found.sources.sort(key=lambda one: one.uri.encode())
        found.hidden = [f"{base}/{uri.partition('/')[2]}" for uri in found.hidden]
        return found

    def names(self, uri: str) -> bool:
        """Whether it reads a file of that name, or a part of it, where the file is there."""
        from ragdb.ingest import globs

        if self.kind != "local":
            return False
        base, glob = self._parts()
        # a # may stand in the name of a file, too
        files = {"#".join(uri.split("#")[:n]) for n in range(1, uri.count("#") + 2)}
        if not glob:
            return not base or base in files or uri.startswith(f"{base}/")
        start = f"{base}/" if base else ""
        belows = [file.removeprefix(start) for file in files if file.startswith(start)]
        return any(
            (_is_deep(glob) or "/" not in below) and globs.matches(below, glob) for below in belows
        )

    def _parts(self) -> tuple[str, str]:
        """The file or folder of a local source, and the glob of what is read there."""
        parts = self.uri.split("/")
        fixed = next((i for i, part in enumerate(parts) if re.search(r"[*?\[]", part)), len(parts))
        return "/".join(parts[:fixed]), "/".join(parts[fixed:])


@dataclass(frozen=True)
class Kept:
    """What a source has read: what a source in force names, and what none names any more."""

    named: list[str]
    unnamed: list[str]


def find_each(
    declared: list[DeclaredSource],
    folder: Path,
    *,
    allow_private: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Iterator[tuple[DeclaredSource, Found]]:
    """Each source with what it is now; close what is found.

    The resources of an MCP server are read at once, over one connection.
    """
    servers = [(source.uri if source.kind == "mcp" else None) for source in declared]
    waiting: dict[int, Found] = {}
    try:
        for number, source in enumerate(declared):
            if servers[number] is None:
                yield source, source.find(folder, allow_private=allow_private)
                continue
            if number not in waiting:
                same = [n for n, server in enumerate(servers) if server == source.uri]
                found = _resources([declared[n] for n in same], allow_private, max_bytes)
                waiting |= zip(same, found, strict=True)
            yield source, waiting.pop(number)
    finally:
        for left in waiting.values():
            left.close()


def _resources(declared: list[DeclaredSource], allow_private: bool, max_bytes: int) -> list[Found]:
    """What sources of one MCP server are now."""
    from importlib.util import find_spec

    from ragdb.ingest.source import Found
    from ragdb.readers.document import ReadError

    if find_spec("mcp") is None:
        error = ReadError(
            "missing_extra", "sources of kind mcp need mcp", "pip install 'ragdb-postgres[mcp]'"
        )
        return [Found(failed=[(source.resource, error)]) for source in declared]
    from ragdb.ingest import mcp_sources

    resources = [source.resource for source in declared]
    return mcp_sources.find(
        declared[0].uri, resources, allow_private=allow_private, max_bytes=max_bytes
    )


def _is_deep(glob: str) -> bool:
    """Whether folders inside of the folder are read, too."""
    return glob in ("", "**") or "/" in glob


def _outside() -> ReadError:
    """The refusal of a path that leads out of the contract's folder by a link."""
    from ragdb.readers.document import ReadError

    return ReadError(
        "outside",
        "a link leads out of the folder of the contract",
        "put the files below that folder, or ingest theirs by its own path",
    )


def _named(source: Source, base: str, below: bool) -> Source:
    """A local source under the name that it has from the contract's folder."""
    way = Path(source.below).as_posix()
    if below or (source.prefix and not source.prefix.endswith("#")):
        uri = f"{base}/{way}" if base else way
        return replace(source, uri=uri, prefix=f"{base}/" if base else "")
    return replace(source, uri=base, prefix=f"{base}#" if source.prefix else "")


def _remote(glob: str, allow_private: bool) -> list[str]:
    """What a glob of a remote store means now, by fsspec. Raises ReadError."""
    from ragdb.ingest import networks

    system, path = networks.store(glob, allow_private)
    scheme = glob.partition("://")[0]
    try:
        return [f"{scheme}://{name}" for name in sorted(system.glob(path))]
    except Exception as error:  # each file system raises its own
        raise networks.unreachable(error) from None


def declared_sources(found: Json) -> list[DeclaredSource]:
    """The sources of a sound contract, in its order."""
    from ragdb.readers import formats

    nodes: list[tuple[str, str, Json]] = []
    for node in found["nodes"]:
        is_corpus = node["node"] == "corpus"
        for child in node.get("children") or [] if is_corpus else [node]:
            if child["node"] in ("source", "chunking"):
                keys = child.get("keys") or {}
                corpus = keys["corpus"] if "corpus" in keys else node["keys"]["name"]
                nodes.append((str(corpus), child["node"], keys))
    chunkings = {
        (corpus, str(keys.get("source", ""))): keys
        for corpus, kind, keys in nodes
        if kind == "chunking"
    }
    declared = []
    for corpus, node_kind, keys in nodes:
        if node_kind != "source":
            continue
        name = str(keys["name"])
        chunking = chunkings.get((corpus, name)) or chunkings.get((corpus, "")) or {}
        options: Json = {"source_name": name}
        if "media" in keys:
            media = str(keys["media"])
            is_format = media.lower() in formats.FORMATS
            options["media_type"] = formats.media_type(media.lower()) if is_format else media
        for key, option, read_as in (
            ("strategy", "strategy", str),
            ("maxTokens", "max_tokens", int),
            ("overlap", "overlap", int),
            ("unit", "unit", str),
        ):
            if key in chunking:
                options[option] = read_as(chunking[key])
        if "unit" in options:
            options["unit"] = options["unit"].removesuffix("s")
        uri = str(keys.get("uri", ""))
        kind = str(keys.get("kind", "local"))
        resource = str(keys.get("resource", ""))
        declared.append(
            DeclaredSource(name, _slug(corpus), kind, _way(kind, uri), options, resource)
        )
    return declared


def _way(kind: str, uri: str) -> str:
    """What a source reads; of a local one the way from the folder of its contract."""
    if kind != "local":
        return uri
    return "/".join(part for part in uri.split("/") if part not in ("", "."))


def _slug(name: str) -> str:
    lower = "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in name)
    return re.sub(r"[^a-z0-9-]+", "-", lower)[:64]


def in_force(db: Client, contract: str) -> ListContractsRow | None:
    """The contract of that name that is in force.

    Of those that begin with its name it is the first.
    """
    listed = db.list_contracts(True, contract, count=1)
    return listed[0] if listed and listed[0].name == contract else None


def are_in_force(db: Client, found: Json) -> bool:
    """Whether the sources of a contract are those of the one of its name that is in force.

    Their order means nothing, though an applied contract keeps it.
    """
    applied = db.export_contract(found["contract"])
    one, other = (
        {(source.corpus, source.name): source for source in declared_sources(nodes)}
        for nodes in (applied, found)
    )
    return one == other


def read_by_contracts(db: Client, contract: str, corpus: str) -> dict[str, Kept]:
    """What sources of contracts have read into a corpus, by their names.

    Those of another contract in force are left out: they are for that one to tell.
    """
    from ragdb.ingest import origins

    forced = [row for row in db.list_sources() if row.corpus == corpus]
    others = {row.name for row in forced if row.contract != contract}
    declared = [
        DeclaredSource(row.name, corpus, row.kind, _way(row.kind, row.uri), {}) for row in forced
    ]
    found: dict[str, Kept] = {}
    for name, uri in origins.of_contracts(db, corpus):
        if name not in others:
            kept = found.setdefault(name, Kept([], []))
            is_named = any(source.names(uri) for source in declared)
            (kept.named if is_named else kept.unnamed).append(uri)
    return found


def due(db: Client, contract: str) -> set[tuple[str, str]]:
    """Corpus and name of each source of a contract in force that is due."""
    listed = db.list_sources(True, contract, count=1)
    return {(row.corpus, row.name) for row in listed if row.contract == contract}
