"""Templates and assets: what a page is made of, always escaped, with nothing from elsewhere."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pydantic import BeforeValidator
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient
from ragdb.client.counting import named
from ragdb.client.rows import dumps
from ragdb.http import personal
from ragdb.http.server import Server
from ragdb.studio import charts, sessions
from ragdb.studio.texts import flowing

# a field of a form may be left empty; what bounds a text stands before it, and sees no null
Blank = BeforeValidator(lambda given: given or None)
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
UUID_FORM = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OVERRIDES = re.compile("[\u202d\u202e]")  # they turn letters round: \u202egnp.md looks like dm.png
# name in the address, title, key after g
VIEWS = (
    ("search", "Search", "s"),
    ("traces", "Traces", "t"),
    ("slices", "Slices", "l"),
    ("evals", "Evals", "e"),
    ("documents", "Documents", "d"),
    ("answers", "Answers", "a"),
    ("map", "Map", "m"),
    ("health", "Health", "h"),
)
LONGEST = 32_768  # characters of a question, as the database takes it
OFFERED = 200  # corpora to choose from; a page of thousands takes long to load
# what shows all corpora
UNDIVIDED = ("evals", "health")


class Choice(list[rows.ListCorporaRow]):
    """The corpora to choose from; where they are many, those that changed last, and how many.

    The manual is no choice, and `has_manual` says whether it is there.
    """

    of_many: int | None = None
    has_manual = False


class Studio:
    """What each page needs: the server, the templates and the assets."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.assets: dict[str, tuple[bytes, str]] = {}
        self._addresses: dict[str, str] = {}
        for asset in files("ragdb.studio").joinpath("assets").iterdir():
            content = asset.read_bytes()
            name = f"{hashlib.sha256(content).hexdigest()[:16]}-{asset.name}"
            self.assets[name] = (content, TYPES[asset.name.rpartition(".")[2]])
            self._addresses[asset.name] = f"/assets/{name}"
        self.templates = environment()
        self.templates.globals |= {"asset": self.asset, "views": VIEWS, "undivided": UNDIVIDED}
        self.templates.globals["home"] = sessions.HOME

    def asset(self, name: str) -> str:
        """The path of an asset, with the hash of its content."""
        return self._addresses[name]

    @asynccontextmanager
    async def transaction(self, request: Request) -> AsyncIterator[AsyncClient]:
        """One transaction as the role of the browser's session. Raises Refused."""
        async with self.server.transaction(request, session=sessions.session_of(request)) as db:
            yield db

    def page(
        self, request: Request, template: str, status: int = 200, **values: Any
    ) -> HTMLResponse:
        text = self.templates.get_template(template).render(
            view=request.url.path.split("/")[2] if request.url.path.count("/") > 1 else "",
            root=sessions.root(request),
            role=request.scope.get("role"),
            csrf=sessions.csrf_token(request),
            written=sessions.written(request),
            # who chose a corpus stays in it, unless it is what failed
            within=request.query_params.get("corpus") if status < 400 else None,
            **values,
        )
        return HTMLResponse(text, status, dict(sessions.headers()))

    async def corpora(
        self, db: AsyncClient, named: str | None, of_parts: bool = True
    ) -> tuple[Choice, str | None]:
        """The corpora to choose from, and the one that is meant: named, or the first with a chunk.

        A view of corpora in one piece shows the first part of one that is made of parts.
        """

        def shown(listed: Sequence[rows.ListCorporaRow]) -> Choice:
            found = personal.served(listed, "name")
            found = [c for c in found if c.name != "system" or named == "system"]
            return Choice(c for c in found if (of_parts or not c.parts) and c.moved_to is None)

        listed = await db.list_corpora(count=OFFERED + 1)
        choice = by_name = shown(listed)
        if len(listed) > OFFERED:
            choice = shown(await db.list_corpora(count=OFFERED, by_change=True))
            choice.of_many = (await db.count_corpora(with_personal=False)).corpora
        choice.has_manual = any(row.name == "system" for row in listed)
        if named:
            whole = [] if of_parts else await db.list_corpora(named, count=1)
            if whole and whole[0].name == named and whole[0].parts:
                parts = [part.name for part in await db.list_parts(named) if not part.is_elsewhere]
                return choice, parts[0] if parts else named
            return choice, self.server.served(named)
        first = sorted([*by_name, *choice], key=lambda c: not c.chunks)
        return choice, next((c.name for c in first), None)

    @staticmethod
    async def evals(db: AsyncClient, corpus: str | None = None) -> list[rows.ListEvalsRow]:
        """The evals that contracts in force declare: all, or those of a corpus."""
        return personal.served(await db.list_evals(corpus))

    @staticmethod
    def here(request: Request) -> str:
        """The path of a page of Studio, with what it asks for."""
        path = request.url.path.removeprefix("/studio")
        return path + (f"?{request.url.query}" if request.url.query else "")

    def to_login(self, request: Request) -> HTMLResponse | RedirectResponse:
        """The login instead of a page; instead of what a form does, with what was written in it."""
        if request.method == "GET":
            back = urlencode({"next": self.here(request)})
            return sessions.lead(request, f"/login?{back}")
        over = "Your session is over: what you sent was not recorded. Log in, and send it again."
        return self.page(request, "login.html", 401, next=sessions.sender(request), problem=over)


def environment() -> Environment:
    """The templates, for pages and for reports in a file."""
    made = Environment(
        loader=PackageLoader("ragdb.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "count": count,
        "counted": counted,
        "score": score,
        "drift": drift,
        "when": when,
        "brief": brief,
        "flowing": flowing,
        "coded": coded,
        "visible": visible,
        "ms": milliseconds,
        "as_json": as_json,
        "told": told,
        "shown": charts.shown,
    }
    made.globals |= {
        "address": address,
        "chart": charts,
        "in_document": in_document,
        "target": target,
        "longest": LONGEST,
    }
    return made


def address(path: str, **values: Any) -> str:
    """A link with a query string; what is null is left out."""
    given = {name: value for name, value in values.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def in_document(root: str, corpus: str, source: str, chunk_id: str, **values: Any) -> str:
    """The place of a chunk in its document; `q` or `quote` has words marked."""
    page = f"{root}/documents/show"
    return address(page, corpus=corpus, document=source, chunk=chunk_id, **values) + "#chunk"


def target(row: rows.ListEvalsRow) -> str:
    """An eval as a field of a form."""
    return urlencode({"rag": row.rag, "eval": row.eval})


def count(number: float | None) -> str:
    """A whole number with its thousands apart."""
    return "–" if number is None else f"{number:,.0f}"


def counted(number: int, word: str) -> str:
    """A number of things, and what they are."""
    return f"{number:,} {named(number, word)}"


def score(number: float | None) -> str:
    return "–" if number is None or math.isnan(number) else f"{number:.3f}"


def drift(share: float | None) -> str:
    """A deviation in whole percent with its sign, which none of zero has."""
    if share is None:
        return "–"
    percent = round(100 * share)
    return f"{percent:+} %".replace("-", "−") if percent else "0 %"


def milliseconds(number: float | None) -> str:
    """A duration in milliseconds or, from ten seconds on, in seconds."""
    if number is None:
        return "–"
    return f"{number / 1000:.1f} s" if number >= 10_000 else f"{number:.3g} ms"


def as_json(value: Any) -> str:
    """A value of JSON as it is written; a text without its quotes."""
    return value if isinstance(value, str) else dumps(value)


def told(value: Any, most: int = 300) -> str:
    """A value of JSON for people, cut where it is long."""
    if isinstance(value, float):
        value = round(value, 4)
    text = as_json(value)
    return text if len(text) <= most else f"{text[:most]} …"


def when(time: datetime | None) -> Markup:
    """A time in UTC to the second, that machines can read too."""
    if time is None:
        return Markup("–")
    return Markup('<time datetime="{}">{}</time>').format(
        time.isoformat(), time.strftime("%Y-%m-%d %H:%M:%S")
    )


def brief(id: UUID | str) -> str:
    """The beginning of an id that tells it from others: a UUID's is its time, a millisecond."""
    text = str(id).removeprefix("sha256:")
    return text[:13] if UUID_FORM.fullmatch(text) else text[:8]


def coded(text: str) -> Markup:
    """A text whose commands stand in backticks, as the page shows commands."""
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(text))))


def visible(name: str) -> str:
    """A name as it is told from others: by its code points where it would show none, or others."""
    if name and not any(letter.isprintable() and letter != " " for letter in name):
        return json.dumps(name)
    return OVERRIDES.sub(lambda found: f"\\u{ord(found[0]):04x}", name)
