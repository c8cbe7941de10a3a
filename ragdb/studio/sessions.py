"""Who a browser is: a token given once, a cookie that ends by itself, and forms that are ours."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ragdb.http.transactions import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

COOKIE = "ragdb_session"
HOME = "/search"  # below the root, as all paths here are
LINK_LIFE = 600.0  # seconds


def digest(secret: str) -> bytes:
    """The hash by which the database knows a token or a session."""
    return hashlib.sha256(secret.encode()).digest()


def session_of(request: Request) -> bytes | None:
    secret = request.cookies.get(COOKIE, "")
    return digest(secret) if secret else None


def csrf_token(request: Request) -> str:
    """What a form of this session has to send: no other site can know it."""
    secret = request.cookies.get(COOKIE, "")
    return hmac.new(secret.encode(), b"csrf", hashlib.sha256).hexdigest()


def keep(answer: Response, request: Request, secret: str) -> None:
    """Send the cookie of a session. Scripts do not see it, and other sites do not send it."""
    answer.set_cookie(
        COOKIE,
        secret,
        path=None,  # that of Studio, as the browser sees it
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def forget(answer: Response) -> None:
    """Have the browser drop the cookie; a page that lies deeper leaves one that opens nothing."""
    answer.set_cookie(COOKIE, max_age=0, path=None, httponly=True, samesite="strict")


def check_origin(request: Request) -> None:
    """Refuse a form that another site sends. Raises Refused."""
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site")
    here = origin is not None and _parts(origin).netloc == request.headers.get("host")
    if not here and (origin is not None or site not in (None, "same-origin", "none")):
        raise Refused(403, "FORBIDDEN", "the form comes from another site")


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form of this session. Raises Refused."""
    fields = await fields_of(request)
    if session_of(request) is None:
        raise Refused(401, "UNAUTHORIZED", "the session is over")
    if not hmac.compare_digest(fields.pop("csrf", "").encode(), csrf_token(request).encode()):
        hint = {"hint": "load the page again, and send its form"}
        raise Refused(403, "FORBIDDEN", "the form is of another session", hint)
    return fields


async def fields_of(request: Request) -> dict[str, str]:
    """The fields of a form. Raises Refused."""
    check_origin(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refused(400, "BAD_REQUEST", "the body is not a form")
    try:
        pairs = parse_qsl(
            (await request.body()).decode(),
            keep_blank_values=True,
            strict_parsing=False,
            max_num_fields=100,
            errors="strict",
        )
    except ValueError:
        raise Refused(400, "BAD_REQUEST", "the form cannot be read") from None
    fields = request.scope["form"] = dict(pairs)
    return fields.copy()


def written(request: Request) -> str:
    """What somebody wrote in the form that was sent, for a page that cannot take it."""
    form: Mapping[str, str] = request.scope.get("form", {})
    return next((form[name] for name in ("comment", "query", "written") if form.get(name)), "")


def sender(request: Request) -> str:
    """The page of Studio that a form or a link is of; its first page for anything else."""
    page = _parts(request.headers.get("referer", ""))
    _, is_ours, path = page.path.rpartition("/studio/")
    if not is_ours:
        return HOME
    return inside(f"/{path}?{page.query}" if page.query else f"/{path}")


def inside(path: str) -> str:
    """A path of Studio to go to after the login; its first page for anything else."""
    parts = _parts(path)
    ours = not parts.scheme and not parts.netloc and parts.path.startswith("/")
    return path if ours and "\\" not in path and path.isprintable() else HOME


def root(request: Request) -> str:
    """Where Studio is from a page, relative to it: a proxy may serve it below a path of its own."""
    path: bytes = request.scope["raw_path"]
    return "../" * (path.count(b"/") - 1) + "studio"


def lead(request: Request, path: str) -> RedirectResponse:
    """Lead to another page of Studio."""
    return RedirectResponse(root(request) + path, 303, dict(headers()))


def _parts(address: str) -> SplitResult:
    """The parts of an address; none of what is not one, such as `//[`."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


class Link:
    """A link of one use, for who has started the server."""

    def __init__(self) -> None:
        self._secret: str | None = secrets.token_urlsafe(32)
        self._until = time.monotonic() + LINK_LIFE

    @property
    def path(self) -> str:
        return f"/studio/enter?key={self._secret}"

    def opens(self, key: str) -> bool:
        """Whether the key is right; the link is used up then."""
        known, late = self._secret, time.monotonic() > self._until
        if known is None or late or not hmac.compare_digest(key.encode(), known.encode()):
            return False
        self._secret = None
        return True


def headers() -> Mapping[str, str]:
    """What each page says to the browser: nothing of it may come from elsewhere or go there."""
    return {
        "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self';"
        " img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
