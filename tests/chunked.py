"""Texts for the chunker in which every kind of boundary is near others, and limits for it."""

from __future__ import annotations

from hypothesis import strategies as st

# what decides a boundary: every level, its near misses, fences, scripts without spaces, white space
# that only Unicode knows
PIECES = [
    *["a", "bb", "ccc.", "word", 'end!"', "Zz?'", ".", "...", "x.)))))))", "x.))))))))", "é."],
    *["日本", "語。", "」", "。」)", "a日b", "\x85", "\xa0", "\u3000", "é", "🙂", "สวัสดี"],
    *[
        "है।",
        "है॥)",
        "ما؟",
        "ہے۔",
        "τι;",
        'τι;"',
        "x;",
        "τι;;",
        ";",
        "τί\u037e",
        "\u037e;",
        "ὦ;)))))))",
    ],
    *["#", "##", "#######", "#x", "```", "```py", "~~~", "~~~~x"],
    *["\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\r \r", "\n \n", "\f", "\v", "\t"],
    *["\n# ", "\n## ", "\n```\n", "\n~~~\n"],
]
texts = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " ", "  "])), max_size=60
).map(lambda pairs: "".join(piece + space for piece, space in pairs))
limits = st.integers(1, 40).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, m - 1)))
