"""E-mail: one message (EML), or a file of them (mbox), each a document."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from email.utils import parsedate_to_datetime
from typing import Any

from ragdb.readers import encoding, html
from ragdb.readers.building import Builder
from ragdb.readers.document import Content, ReadError, clean, one_line, storable

_MAX_PARTS = 1_000
_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_PART = re.compile(rb"^content-type:", re.I | re.MULTILINE)
_FROM = re.compile(rb"^From [^\n]*\n", re.MULTILINE)


def read(data: bytes) -> Content:
    """Subject as title, who and when as metadata and in the text; attachments by their names."""
    # before it is parsed, which takes time for each part of a part
    if (parts := len(_PART.findall(data))) > _MAX_PARTS:
        raise ReadError("limits", f"it has {parts} parts", f"the limit is {_MAX_PARTS}")
    message = message_from_bytes(data, policy=policy.default.clone(refold_source="none"))
    if not any(message[name] for name in _SHOWN):
        raise ReadError("malformed", "it has no header of an e-mail", "save it again as .eml")
    built = Builder()
    facts = _head(message, built)
    metadata: dict[str, Any] = {
        name.lower(): value for name, value in facts.items() if value and name != "Subject"
    }
    if metadata.get("date"):
        try:
            metadata["date"] = parsedate_to_datetime(metadata["date"]).isoformat()
        except (ValueError, TypeError, IndexError):
            del metadata["date"]
    attached = [one_line(name) for name in _read_parts(message, built)]
    names = [name for name in attached if name]
    if names:
        built.block("Attachments: " + ", ".join(names))
        metadata["attachments"] = names
    return built.content(title=facts["Subject"], metadata=storable(metadata))


def messages(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The messages of an mbox with their names: a message's id, or a hash of what it is."""
    starts = [
        match.start()
        for match in _FROM.finditer(data)
        if match.start() == 0 or data.endswith((b"\n\n", b"\r\n\r\n"), 0, match.start())
    ] if data.startswith(b"From ") else []  # fmt: skip
    if not starts:
        raise ReadError("malformed", "it does not begin with From", "save it again as mbox")
    seen: dict[str, bytes] = {}
    for begin, end in zip(starts, [*starts[1:], len(data)], strict=True):
        body = data[begin:end].partition(b"\n")[2].strip(b"\r\n")
        if not body:
            continue
        head = re.search(rb"^message-id:\s*<([^<>\s]{1,200})>", body[:65_536], re.I | re.MULTILINE)
        digest = hashlib.sha256(body).digest()
        named = head[1].decode("ascii", "replace") if head else ""
        if not named or seen.get(named, digest) != digest:
            named = digest.hex()[:24]
        if named not in seen:
            seen[named] = digest
            yield clean(named)[0], re.sub(rb"^>(>*From )", rb"\1", body, flags=re.MULTILINE)


def _head(message: MIMEPart, built: Builder) -> dict[str, str | None]:
    """Add who wrote a message, to whom, when and of what."""
    facts = {name: one_line(_header(message, name)) for name in _SHOWN}
    built.block("\n".join(f"{name}: {value}" for name, value in facts.items() if value))
    return facts


def _header(message: MIMEPart, name: str) -> str | None:
    try:
        return str(message[name]) if message[name] is not None else None
    except (ValueError, IndexError, AttributeError, TypeError):
        return None  # headers of spam break the parser of headers


def _read_parts(message: EmailMessage, built: Builder) -> Iterator[str | None]:
    """Add the text of a message; gives the names of what is attached."""
    parts = list(message.walk())
    alternatives = {
        id(plain) for part in parts if part.get_content_type() == "multipart/alternative"
        and any(p.get_content_type() == "text/plain" for p in part.iter_parts())
        for plain in part.walk() if plain.get_content_type() == "text/html"
    }  # fmt: skip
    for part in parts:
        kind = part.get_content_type()
        if kind == "message/rfc822":  # one that is forwarded
            for forwarded in part.iter_parts():
                _head(forwarded, built)
        if part.is_multipart() or id(part) in alternatives:
            continue
        if part.get_content_disposition() == "attachment" or not kind.startswith("text/"):
            yield part.get_filename()
            continue
        payload = part.get_payload(decode=True)
        if not isinstance(payload, bytes) or not payload.strip():
            continue
        text, replaced = encoding.decode(payload, part.get_content_charset())
        built.replaced += replaced
        if kind == "text/html":
            built.add(html.read(text))
        else:
            built.block(text)
