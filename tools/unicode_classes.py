# /// script
# dependencies = ["unicodedata2==15.0.0"]
# ///
"""Write sql/text/unicode.sql: what Unicode says, as classes for PostgreSQL's regular expressions.

`uv run tools/unicode_classes.py`, or after `pip install unicodedata2==15.0.0`. 15.0 is what the
oldest server that ragdb runs on, PostgreSQL 16, normalises by; later data would differ there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import unicodedata2 as unicode  # type: ignore[import-not-found]

VERSION = "15.0.0"
TARGET = Path(__file__).resolve().parent.parent / "sql/text/unicode.sql"

# Scripts written without spaces between words, by how the names of their characters begin.
SPACELESS = (
    "CJK ",
    "IDEOGRAPHIC ",
    "VERTICAL ",
    "HANGZHOU ",
    "HIRAGANA ",
    "KATAKANA",
    "HENTAIGANA ",
    "HANGUL ",
    "THAI ",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
)
# In these, the letter after the sign is written below the letter before it: one cluster.
STACKERS = (0x17D2, 0x1039)
# What a reader does not see: shy hyphens, joiners, directions, variants; and the Arabic stretch.
INVISIBLE = (
    *(0x00AD, 0x034F, 0x061C, 0x0640, 0xFEFF),
    *range(0x180B, 0x180F),
    *range(0x200C, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
)

# Sharp s and the Armenian ligature, which fold to two; marks, which a small letter may take in.
EXPANDED = (0xDF, 0x1E9E, 0x587, *range(0x300, 0x370))

POINTS = range(0x80, 0x110000)
CATEGORY = {i: unicode.category(chr(i)) for i in POINTS}
# What composes with the character before it, besides the vowels and finals of Hangul.
SECONDS = {
    ord(d[-1])
    for d in (unicode.normalize("NFD", chr(i)) for i in POINTS if not 0xAC00 <= i <= 0xD7A3)
    if len(d) > 1
}


def is_word(i: int) -> bool:
    return CATEGORY[i][0] in "LMN"


def is_spaceless(i: int) -> bool:
    return (
        CATEGORY[i] in ("Lo", "Lm", "Nl", "Mn", "Mc")
        and unicode.normalize("NFKC", chr(i)) == chr(i)
        and unicode.name(chr(i), "").startswith(SPACELESS)
    )


def is_mark(i: int) -> bool:
    return CATEGORY[i] in ("Mn", "Mc")


def fold(i: int) -> str:
    """The one-character lower case that lower() of no locale changes again; ASCII digits."""
    c = chr(i)
    if CATEGORY[i] == "Nd":
        return str(unicode.decimal(c))
    if c == "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}":
        return "i"
    folded = c.casefold().lower()
    if len(folded) != 1:
        folded = c.lower()
    return folded if len(folded) == 1 else c


def classed(inside: Callable[[int], bool], gap: Callable[[int], bool] = lambda i: False) -> str:
    """The inside of a bracket expression; a gap between two ranges is filled where harmless."""
    found: list[list[int]] = []
    for i in POINTS:
        if not inside(i):
            continue
        if found and all(gap(j) for j in range(found[-1][1] + 1, i)):
            found[-1][1] = i
        else:
            found.append([i, i])
    escaped = ([f"\\u{i:04X}" if i < 0x10000 else f"\\U{i:08X}" for i in r] for r in found)
    return "".join(a if a == b else a + "-" + b for a, b in escaped)


def lines(text: str, width: int = 80) -> Iterator[str]:
    """One constant over several lines, each of them read alike by every session."""
    for start in range(0, len(text), width):
        piece = text[start : start + width].replace("\\", r"\\").replace("'", "''")
        yield f"  {'E' if start == 0 else ''}'{piece}'"


def function(name: str, body: str, comment: str) -> str:
    value = "\n".join(lines(body))
    return (
        f"-- {comment}\n"
        f"create or replace function ragdb_internal.{name}() returns text\n"
        "language sql immutable parallel safe set search_path = pg_catalog, pg_temp\n"
        f"as $$ select\n{value} $$;\n"
    )


def is_cased(i: int) -> bool:
    """As the rule of the final sigma has it, asked of Python's own lower()."""
    return (chr(i) + "\u03a3").lower().endswith("\u03c2")


def is_case_ignorable(i: int) -> bool:
    return not is_cased(i) and ("A" + chr(i) + "\u03a3").lower().endswith("\u03c2")


def is_unassigned(i: int) -> bool:
    return CATEGORY[i] in ("Cn", "Cs")


def is_unstable(i: int) -> bool:
    """Whether normalisation may change it or join it to what stands before it."""
    return (
        unicode.normalize("NFKC", chr(i)) != chr(i)
        or unicode.combining(chr(i)) != 0
        or i in SECONDS
        or 0x1161 <= i <= 0x1175
        or 0x11A8 <= i <= 0x11C2
    )


def is_inert(i: int) -> bool:
    """A separator, and no character without which a text is plain."""
    return not is_word(i) and not is_unassigned(i) and i not in INVISIBLE and not is_unstable(i)


def main() -> None:
    assert unicode.unidata_version == VERSION, unicode.unidata_version
    folds = {i: fold(i) for i in POINTS if is_word(i) and fold(i) != chr(i)}
    lowers = {i: chr(i).lower() for i in POINTS if len(chr(i).lower()) == 1}
    lowers = {i: c for i, c in lowers.items() if c != chr(i)}
    near = [i for i in folds if i < 0x530]
    constants = {
        "unassigned": (
            classed(is_unassigned),
            "Returns the class of code points that Unicode 15.0 has not assigned.",
        ),
        "wordly": (
            classed(is_word, is_unassigned),
            "Returns the class of letters, marks and numbers.",
        ),
        "spaced": (
            classed(lambda i: is_word(i) and not is_spaceless(i), is_unassigned),
            "Returns the class of letters, marks and numbers of scripts with spaces between words.",
        ),
        "spaceless": (
            classed(is_spaceless),
            "Returns the class of letters and marks of scripts without spaces between words.",
        ),
        "spaceless_letters": (
            classed(lambda i: is_spaceless(i) and not is_mark(i)),
            "Returns the class of letters of scripts without spaces between words.",
        ),
        "spaceless_marks": (
            classed(lambda i: is_spaceless(i) and is_mark(i)),
            "Returns the class of marks of scripts without spaces between words.",
        ),
        "stackers": (
            classed(lambda i: i in STACKERS),
            "Returns the class of signs that set the next letter below the last one.",
        ),
        "invisible": (
            classed(lambda i: i in INVISIBLE),
            "Returns the class of characters that a reader does not see.",
        ),
        "inert": (
            classed(is_inert, is_unassigned),
            "Returns the class of separators that normalisation leaves as they are.",
        ),
        "unstable": (
            classed(lambda i: is_unassigned(i) or i in INVISIBLE or is_unstable(i)),
            "Returns the class of characters without which a text is plain.",
        ),
        "foldable": (
            classed(lambda i: i in folds or i in EXPANDED),
            "Returns the class of characters that folding changes.",
        ),
        "folded_near": ("".join(map(chr, near)), "Returns what folds before U+0530."),
        "folds_near": ("".join(folds[i] for i in near), "Returns what they fold to, in order."),
        "folded": ("".join(map(chr, folds)), "Returns what folds to one other character."),
        "folds": ("".join(folds.values()), "Returns what they fold to, in order."),
        "capitals": ("".join(map(chr, lowers)), "Returns what has one lower-case character."),
        "smalls": ("".join(lowers.values()), "Returns those lower-case characters, in order."),
        "cased": (
            "A-Za-z" + classed(is_cased),
            "Returns the class of letters with case that make a following capital sigma final.",
        ),
        "case_ignorable": (
            "".join(c for c in map(chr, range(33, 127)) if is_case_ignorable(ord(c))).replace(
                "^", "\\^"
            )
            + classed(is_case_ignorable),
            "Returns the class of characters that the rule of the final sigma looks through.",
        ),
    }
    header = (
        f"-- Written by tools/unicode_classes.py from Unicode {VERSION}; do not edit. A class is\n"
        "-- the inside of a bracket expression of code points past ASCII; where it helps, gaps of\n"
        "-- unassigned ones are filled. A session reads a body of text in a tenth of the time of\n"
        "-- a parsed one, in which each byte of a constant is a number.\n"
    )
    functions = (function(name, *constant) for name, constant in constants.items())
    TARGET.write_text("\n".join([header, *functions]))


if __name__ == "__main__":
    main()
