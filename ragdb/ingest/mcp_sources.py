"""Sources of kind mcp: resources of servers of the Model Context Protocol, read before ingest.

A contract names a server; what runs it is not the contract's to say. RAGDB_MCP_SERVERS is a file in
the form that clients use, {"mcpServers": {name: {"command", "args", "env"} or {"url", "headers"}}}.
Only an http(s) address may stand in a contract itself.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import anyio
import httpx2
from anyio import to_thread
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import BlobResourceContents, Resource

from ragdb.ingest import fetch
from ragdb.ingest.source import Found, Source, too_large
from ragdb.readers.document import ReadError
from ragdb.readers.limits import MAX_BYTES

SERVERS = "RAGDB_MCP_SERVERS"
SECONDS = 60  # for each answer of a server
MAX_RESOURCES = 100_000


def find(
    server: str, resources: list[str], *, allow_private: bool = False, max_bytes: int = MAX_BYTES
) -> list[Found]:
    """The resources of a server that each address or glob (`*` is any run) names, read.

    The server is connected to once. The contents lie in folders that `Found.close` removes. What
    cannot be read is in `failed`.
    """
    found = [Found() for _ in resources]
    left = []
    for one, resource in zip(found, resources, strict=True):
        if len(resource) > 1024 or resource.count("*") > 16:
            error = ReadError(
                "bad_glob", "the glob is too long", "1024 characters and 16 stars at most"
            )
            one.failed.append((resource[:80], error))
        else:
            one.folder = tempfile.TemporaryDirectory(prefix="ragdb-mcp-")
            left.append((one, resource))
    if left:
        try:
            anyio.run(_read_all, left, server, allow_private, max_bytes)
        except Exception as error:
            # a transport raises its own, and groups of them
            for one, resource in left:
                one.failed.append((server or resource, _why(error)))
    for one in found:
        one.sources.sort(key=lambda source: source.uri.encode())
    return found


async def _read_all(
    left: list[tuple[Found, str]], server: str, allow_private: bool, max_bytes: int
) -> None:
    """Read what is left, and leave what the connection did not outlast."""
    async with _connected(server, allow_private) as client:
        while left:
            found, resource = left[0]
            try:
                await _read(found, client, resource, max_bytes)
            except (ReadError, MCPError, TimeoutError) as error:
                found.failed.append((server or resource, _why(error)))
            del left[0]


async def _read(found: Found, client: Client, resource: str, max_bytes: int) -> None:
    assert found.folder is not None
    folder = Path(found.folder.name)
    is_glob = re.search(r"[*?\[]", resource) is not None
    prefix = re.split(r"[*?\[]", resource)[0].rpartition("/")[0] + "/" if is_glob else ""
    named = [(resource, None)] if not is_glob else await _listed(client, resource)
    if not named:
        raise ReadError("unreachable", "the server has no such resource", "list its resources")
    for number, (uri, media_type) in enumerate(named):
        try:
            data, kind = await _contents(client, uri, max_bytes)
        except (ReadError, MCPError, TimeoutError) as error:
            found.failed.append((uri, _why(error)))
            continue
        file = folder / str(number)
        file.write_bytes(data)
        found.sources.append(
            Source(
                uri,
                folder,
                file.name,
                len(data),
                "" if prefix == "/" else prefix,
                media_type=kind or media_type,
            )
        )


async def _listed(client: Client, glob: str) -> list[tuple[str, str | None]]:
    resources: list[Resource] = []
    cursor = None
    while len(resources) < MAX_RESOURCES:
        page = await client.list_resources(cursor=cursor)
        resources += page.resources
        cursor = page.next_cursor
        if not cursor:
            break
    matching = {str(r.uri): r.mime_type for r in resources if fnmatchcase(str(r.uri), glob)}
    return list(matching.items())


async def _contents(client: Client, uri: str, max_bytes: int) -> tuple[bytes, str | None]:
    parts = (await client.read_resource(uri)).contents
    if len(parts) != 1:
        raise ReadError("unreadable", f"it has {len(parts)} parts", "name each by its own address")
    (part,) = parts
    if isinstance(part, BlobResourceContents):
        try:
            data = base64.b64decode(part.blob, validate=True)
        except binascii.Error:
            raise ReadError("unreadable", "its bytes are not base64", "check the server") from None
    else:
        data = part.text.encode("utf-8", "surrogatepass")
    if len(data) > max_bytes:
        raise too_large(len(data), max_bytes)
    return data, part.mime_type


class Pinned(httpx2.AsyncHTTPTransport):
    """Sends every request to the one address that was checked, whatever its host resolves to now.

    Of the host stay the header and the name that TLS asks for. It uses no proxy.
    """

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "sni_hostname": request.url.host}
        request.url = request.url.copy_with(host=self.address)
        return await super().handle_async_request(request)


@asynccontextmanager
async def _connected(server: str, allow_private: bool) -> AsyncIterator[Client]:
    if server.startswith(("http://", "https://")):
        # the address was written by whoever wrote the contract
        way: Pinned | None = Pinned(await to_thread.run_sync(fetch.checked, server, allow_private))
        declared: dict[str, Any] = {"url": server}
    else:
        way, declared = None, _declared(server)
    async with AsyncExitStack() as stack:
        if "url" in declared:
            carrier = httpx2.AsyncClient(
                headers=declared.get("headers"), timeout=SECONDS, transport=way
            )
            await stack.enter_async_context(carrier)
            made = streamable_http_client(declared["url"], http_client=carrier)
        else:
            parameters = StdioServerParameters(
                command=declared["command"],
                args=declared.get("args", []),
                env={**os.environ, **declared.get("env", {})},
            )
            made = stdio_client(parameters)
        yield await stack.enter_async_context(Client(made, read_timeout_seconds=SECONDS))


def _declared(name: str) -> dict[str, Any]:
    """How a server is reached, as the user's file says."""
    hint = f"{SERVERS} names a file of " + '{"mcpServers": {name: {"command", "args"}}}'
    path = os.environ.get(SERVERS)
    if not path:
        raise ReadError("bad_server", f"{SERVERS} is not set", hint)
    try:
        servers = json.loads(Path(path).read_bytes())["mcpServers"]
        if not name and len(servers) == 1:
            (name,) = servers
        declared = servers[name]
        if not isinstance(declared.get("url", declared.get("command")), str):
            raise TypeError
    except KeyError:
        raise ReadError("bad_server", f'{path} has no server "{name[:80]}"', hint) from None
    except (OSError, ValueError, TypeError, AttributeError):
        raise ReadError("bad_server", f"{path} cannot be read", hint) from None
    found: dict[str, Any] = declared
    return found


def _why(error: BaseException) -> ReadError:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ReadError):
        return error
    if isinstance(error, TimeoutError):
        return ReadError("timeout", "the server took too long", "try again later")
    if isinstance(error, MCPError):
        message = f"the server says: {error.message[:80]}"
        return ReadError("unreachable", message, "check server and resource")
    return ReadError(
        "unreachable", f"the server cannot be asked ({type(error).__name__})", "check the server"
    )
