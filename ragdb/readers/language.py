"""A language as its code, as ragdb_internal.language_code has it in the database."""

from __future__ import annotations

import re

# names that PostgreSQL's configurations have, for people who write them out
NAMES = {
    "arabic": "ar", "armenian": "hy", "basque": "eu", "catalan": "ca", "danish": "da",
    "dutch": "nl", "english": "en", "estonian": "et", "finnish": "fi", "french": "fr",
    "german": "de", "greek": "el", "hindi": "hi", "hungarian": "hu", "indonesian": "id",
    "irish": "ga", "italian": "it", "lithuanian": "lt", "nepali": "ne", "norwegian": "no",
    "portuguese": "pt", "romanian": "ro", "russian": "ru", "serbian": "sr", "spanish": "es",
    "swedish": "sv", "tamil": "ta", "turkish": "tr", "yiddish": "yi",
}  # fmt: skip


def normalise(language: str | None) -> str | None:
    """The primary subtag in lower case (`en-US`, `EN` and `English` are `en`), else None."""
    if not language:
        return None
    primary = re.split(r"[-_.]", language.strip().lower(), maxsplit=1)[0]
    primary = NAMES.get(primary, primary)
    primary = {"nb": "no", "nn": "no", "iw": "he", "in": "id"}.get(primary, primary)
    return primary if re.fullmatch(r"[a-z]{2,3}", primary) else None
