"""A client of a Graph Kernel meets servers that are none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from ragdb.adapters.rag_plusplus.errors import HttpError
from ragdb.adapters.rag_plusplus.slice.client import SliceClient
from tests.endpoint import Fake, Respond, hangs_up, sends, serving


@pytest.fixture
def fake() -> Iterator[Fake]:
    with serving() as server:
        yield server


def asked(server: Fake) -> None:
    asyncio.run(SliceClient(server.url, token="secret").get_slice("turn1"))


@pytest.mark.parametrize(
    "answer",
    [
        sends(200, '{"slices": []}'),
        sends(200, "[]"),
        sends(200, '{"slice": {"slice_id": "s"}}'),
        sends(200, "<html>"),
        sends(200, "[" * 100_000),
        sends(200, "5\r\n{", **{"Transfer-Encoding": "chunked"}),
        sends(500, "[" * 100_000),
        sends(500, "5\r\n{", **{"Transfer-Encoding": "chunked"}),
        sends(500, '{"error": "no code"}'),
        hangs_up,
    ],
)
def test_what_is_not_an_answer_of_a_graph_kernel_is_an_http_error(
    fake: Fake, answer: Respond
) -> None:
    fake.script = [answer]
    with pytest.raises(HttpError):
        asked(fake)


def test_the_token_goes_to_the_server_that_was_named_and_to_no_other(fake: Fake) -> None:
    with serving() as other:
        other.script = [sends(200, "{}")]
        fake.script = [sends(302, "", Location=other.url)]
        with pytest.raises(HttpError, match="302"):
            asked(fake)
    assert fake.keys == ["Bearer secret"]
    assert other.asked == []
