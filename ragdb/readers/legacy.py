"""Which encoding from before UTF-8 a text has.

charset_normalizer judges by how often letters come. That takes more text than many files have where
most letters are ASCII, so a few accents are judged by the alphabets that have all of them.
"""

from __future__ import annotations

import re
import string
from itertools import islice

# letters beyond ASCII, an alphabet a word
_WESTERN = (
    "äöüß àâæçéèêëîïôœùûüÿ áéíñóúüºª àèéìíîòóùú áâãàçéêíóôõúü áäèéëíïóöü åäöæøéü "
    "åæøéòôü áðéíóúýþæö àçèéíïòóúü·"
)
# where two encodings fit, the first wins
_LATIN = {
    "cp1252": _WESTERN,
    "cp1250": "ąćęłńóśźż áčďéěíňóřšťúůýž áäčďéíĺľňóôŕšťúýž áéíóöőúüű čćđšž âăîşţ",
    "iso8859_2": "ąćęłńóśźż áčďéěíňóřšťúůýž áäčďéíĺľňóôŕšťúýž áéíóöőúüű čćđšž âăîşţ",
    "cp1254": "çğıöşüâîû\u0307",
    "cp1257": "ąčęėįšųūž āčēģīķļņšūž äõöüšž",
    "iso8859_4": "ąčęėįšųūž āčēģīķļņšūž äõöüšž",
    # of DOS, and of a Mac
    "cp850": _WESTERN,
    "mac_roman": _WESTERN,
}
_OTHER = (
    *("cp1251", "koi8_r", "koi8_u", "cp866", "iso8859_5", "cp1253", "cp1255", "cp1256", "cp874"),
    *("cp1258", "cp932", "euc_jp", "gb18030", "big5", "euc_kr", "cp949"),
)
_MARKS = frozenset("\xa0\xad–—‘’‚“”„†•…‰‹›€™¡¢£¥§©«¬®°±²³·¹»¼½¾¿×÷µ¨´")
# marks that stand in no word, and capitals inside one: then they are letters of another encoding
_MISPLACED = re.compile(
    r"(?<=[^\W\d_])[^\w\s!-~’·‘–—\xad](?=[^\W\d_])|[¹²³¼½¾»](?=[^\W\d_])"
    r"|(?<=[a-zß-öø-ÿ])[À-ÖØ-ÞŒŠŽŸ]"
)
_FOREIGN = 0.2
_ASCII, _LETTERS = bytes(range(128)), string.ascii_letters.encode()
_ACCENTED = re.compile(rb"\S{0,40}[\x80-\xff]\S{0,40}")
_WORDS = 5000


def guess(data: bytes) -> str | None:
    """Name of the encoding that bytes are most likely in; None where they are not a text."""
    from charset_normalizer import from_bytes

    beyond = len(data.translate(None, _ASCII))
    if 2 * beyond <= len(data) - len(data.translate(None, _LETTERS)) and (name := _latin(data)):
        return name
    # rare encodings fit few bytes by chance, so they are tried last
    best = from_bytes(data, cp_isolation=[*_OTHER, *_LATIN]).best() or from_bytes(data).best()
    return best.encoding if best else None


def _latin(data: bytes) -> str | None:
    """Encoding under which the fewest letters are foreign to a language; None for too many."""
    words = b" ".join(found[0] for found in islice(_ACCENTED.finditer(data), _WORDS))
    foreign = {}
    for name, alphabets in _LATIN.items():
        try:
            text = words.decode(name)
        except UnicodeDecodeError:
            continue
        beyond = [char for char in text.lower() if char > "\x7f"]
        letters = [char for char in beyond if char not in _MARKS]
        strange = min(sum(char not in known for char in letters) for known in alphabets.split())
        foreign[name] = (strange + len(_MISPLACED.findall(text))) / max(len(beyond), 1)
    best = min(foreign, key=foreign.__getitem__, default=None)
    return best if best and foreign[best] < _FOREIGN else None
