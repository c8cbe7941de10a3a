"""Hits for people: a line of score and place, one of the section, the text with its matches.

The lines are the same at every width. A terminal wraps the text; a pipe gets it in one line.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragdb.cli.session import Session

if TYPE_CHECKING:
    from rich.text import Text

    from ragdb.database import Database


BAR = 12
BLOCKS = ("█", "░")
INDENT = " " * 5
SHOWN = 500  # characters of a chunk
BEFORE = SHOWN // 4  # of these before the match that it begins with

# what `ragdb.highlight` puts around a word here; neither ever reaches a terminal
START, STOP = "\x01", "\x02"


def print_hit(
    session: Session,
    db: Database,
    query: str,
    hit: Any,
    name_corpus: bool,
    syntax: str,
    is_past: bool = False,
) -> None:
    import re

    from rich.text import Text

    from ragdb.cli.text import clean

    place = [f"{hit.corpus}: {hit.source}" if name_corpus else hit.source]
    if hit.page is not None:
        place.append(f"page {hit.page}")
    heading = [hit.title, *hit.heading] if hit.title else list(hit.heading)
    # a document often begins with its title as a heading
    path = [h for n, h in enumerate(heading) if n == 0 or h != heading[n - 1]]
    head = _head(session, hit.rank, hit.score, ", ".join(place))
    if hasattr(hit, "server"):
        head.append(f"  on {hit.server}", "dim")
    if hasattr(hit, "rerank_score"):
        head.append(f"  reranked {hit.rerank_score:.4g}, was {hit.retrieval_rank}", "dim")
    session.out.print(head, soft_wrap=True)
    if getattr(hit, "role", None):
        # a search of a slice returns turns, and an id of one is what other verbs ask for
        path.append(f"{hit.role}, {hit.phase}, depth {hit.depth}, {hit.chunk_id}")
    section = re.sub(r"\s+", " ", clean(" › ".join(path))) or "(no heading)"
    session.out.print(Text.assemble(INDENT, (section, "dim")), soft_wrap=True)
    # a chunk of a version before may be gone, and nothing is marked in it
    marked = (
        re.sub(f"[{START}{STOP}]", "", hit.text)
        if is_past
        else db.highlight(hit.corpus, hit.chunk_id, query, START, STOP, syntax)
    )
    parts = [_shown(marked)]
    if getattr(hit, "context", None):
        parts.append(Text(clean(hit.context), style="dim"))
    for part in parts:
        _print_text(session, part)


def print_recorded(session: Session, hit: Any, chunk: Any, reranked: Any) -> None:
    """A hit of a trace, with its chunk as it is now; None where it is gone or not to be read."""
    from rich.text import Text

    place = chunk.source if chunk else "gone, or not to be read"
    if chunk and chunk.page is not None:
        place += f", page {chunk.page}"
    head = _head(session, hit.rank, hit.score, place)
    if reranked:
        said = "" if reranked.is_returned else ", and not returned"
        to = f"  {reranked.model} ranks it {reranked.rank} ({reranked.score:.4g}){said}"
        head.append(to, "dim")
    session.out.print(head, soft_wrap=True)
    changed = chunk is not None and chunk.content_hash != hit.content_hash.hex()
    id = Text.assemble(INDENT, (hit.chunk_id, "dim"))
    id.append("  its text has changed since" if changed else "", "bold yellow")
    session.out.print(id, soft_wrap=True)
    if chunk:
        _print_text(session, _shown(chunk.text))


def _head(session: Session, rank: int, score: float, place: str) -> Text:
    """Rank, score with its bar, and place of a hit."""
    from rich.text import Text

    from ragdb.cli.text import clean

    full = round(score * BAR)
    mark, rest = BLOCKS if _has(session, "".join(BLOCKS)) else ("#", "-")
    return Text.assemble(
        (f"{rank:>3}  ", "bold"),
        f"{score:.3f} ",
        (mark * full, "cyan"),
        (rest * (BAR - full), "dim"),
        "  ",
        (clean(place), "bold"),
    )


def _has(session: Session, letters: str) -> bool:
    """Whether the encoding of the output has letters."""
    try:
        letters.encode(session.out.encoding)
    except UnicodeEncodeError:
        return False
    return True


def _print_text(session: Session, text: Text) -> None:
    from rich.text import Text

    room = max(20, session.out.width - len(INDENT))
    for line in text.wrap(session.out, room) if wraps(session) else [text]:
        line.rstrip()
        session.out.print(Text.assemble(INDENT, line), soft_wrap=True)
    session.out.print()


def wraps(session: Session) -> bool:
    """Whether text is wrapped: for a terminal, or for a width that was asked for."""
    return session.out.file.isatty() or "COLUMNS" in os.environ


def _densest(plain: str, bold: Sequence[Sequence[int]]) -> int:
    """Where that match begins which has the most different ones behind it in what is shown."""
    begins = [begin for begin, _ in bold]

    def matches(n: int) -> int:
        within = bold[n : bisect_left(begins, begins[n] + SHOWN - BEFORE)]
        return len({plain[begin:end].casefold() for begin, end in within})

    return begins[max(range(len(begins)), key=matches)] if begins else 0


def _shown(marked: str) -> Text:
    """A chunk's text as one paragraph, that part which has most of the matches, in bold."""
    import re

    from rich.text import Text

    from ragdb.cli.text import clean

    plain, bold = "", []
    for part in re.split(f"([{START}{STOP}])", marked):
        if part == START:
            bold.append([len(plain), len(plain)])
        elif part == STOP:
            bold[-1][1] = len(plain)
        else:
            # one space for each run of white space, also where a run is cut by a mark
            words = clean(re.sub(r"\s+", " ", part))
            plain += words[1:] if plain.endswith(" ") and words.startswith(" ") else words
    shown = Text(plain)
    for begin, end in bold:
        shown.stylize("bold yellow", begin, end)
    if len(plain) <= SHOWN:
        return shown
    begin = max(0, min(_densest(plain, bold) - BEFORE, len(plain) - SHOWN))
    begin = plain.rfind(" ", 0, begin) + 1
    cut = shown[begin : begin + SHOWN]
    before = "… " if begin else ""
    after = " …" if begin + SHOWN < len(plain) else ""
    return Text.assemble((before, "dim"), cut, (after, "dim"))
