"""The sources that a contract declares: what is read from where, into which corpus."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragdb.contracts.contract_file import Json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ragdb.client._generated.rows import ListContractsRow
    from ragdb.client.client import Client
    from ragdb.ingest.source import Found, Source


MAX_BYTES = 64 * 2**20

MEDIA = {
    "markdown": "text/markdown",
    "text": "text/plain",
    "html": "text/html",
    "rst": "text/x-rst",
    "pdf": "application/pdf",
}


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
        parts = self.uri.split("/")
        fixed = next((i for i, part in enumerate(parts) if re.search(r"[*?\[]", part)), len(parts))
        base, glob = "/".join(parts[:fixed]), "/".join(parts[fixed:])
        found = sources.find([folder / base], glob=glob or None, recursive="/" in glob or not glob)
        found.sources = [_named(one, base, bool(glob)) for one in found.sources]
        origin = f"{source.CONTRACT_SOURCE}{self.name}"
        found.sources = [replace(one, origin=origin) for one in found.sources]
        found.sources.sort(key=lambda one: one.uri.encode())
        found.hidden = [f"{base}/{uri.partition('/')[2]}" for uri in found.hidden]
        return found


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
    nodes: list[tuple[str, Json]] = []
    for node in found["nodes"]:
        if node["node"] == "corpus":
            name = str(node["keys"]["name"])
            nodes += [(name, child) for child in node.get("children") or []]
        elif node["node"] in ("source", "chunking"):
            nodes.append((str(node["keys"]["corpus"]), node))
    chunkings = {
        (corpus, str(node["keys"].get("source", ""))): node["keys"]
        for corpus, node in nodes
        if node["node"] == "chunking"
    }
    declared = []
    for corpus, node in nodes:
        if node["node"] != "source":
            continue
        keys = node["keys"]
        name = str(keys["name"])
        chunking = chunkings.get((corpus, name)) or chunkings.get((corpus, "")) or {}
        options: Json = {"source_name": name}
        if "media" in keys:
            media = str(keys["media"])
            options["media_type"] = MEDIA.get(media.lower(), media)
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
        uri = re.sub(r"^(\./+)+", "", uri) if kind == "local" else uri
        declared.append(
            DeclaredSource(name, _slug(corpus), kind, uri, options, str(keys.get("resource", "")))
        )
    return declared


def _slug(name: str) -> str:
    lower = "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in name)
    return re.sub(r"[^a-z0-9-]+", "-", lower)[:64]


def in_force(db: Client, contract: str) -> ListContractsRow | None:
    """The contract of that name that is in force.

    Of those that begin with its name it is the first.
    """
    listed = db.list_contracts(True, contract, count=1)
    return listed[0] if listed and listed[0].name == contract else None


def due(db: Client, contract: str) -> set[tuple[str, str]]:
    """Corpus and name of each source of a contract in force that is due."""
    listed = db.list_sources(True, contract, count=1)
    return {(row.corpus, row.name) for row in listed if row.contract == contract}
