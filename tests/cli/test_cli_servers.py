"""What the flags of `ragdb serve`, `ragdb studio` and `ragdb mcp` set, and what they leave be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from ragdb.cli import serve
from ragdb.http.config import Config
from ragdb.mcp import transport
from ragdb.mcp.tools import Tools
from tests.conftest import Run

SET: dict[str, Any] = {
    "corpus": "docs", "anonymous_role": "reader", "pool": 3, "timeout": 7.5, "wait": 0.5,
    "max_body": 10, "max_blob": 20, "max_requests": 5, "hosts": ("127.0.0.2", "one", "two"),
    "metrics": True, "ask_peers": True, "allow_private_peers": True,
    "otlp": "http://127.0.0.1:4318", "otlp_query_text": True, "max_lag": 1.5,
}  # fmt: skip
FLAGS = (
    "--corpus docs --anonymous-role reader --pool 3 --timeout 7.5 --wait 0.5 --max-body 10"
    " --max-blob 20 --max-requests 5 --host 127.0.0.2 --allow-host one --allow-host two --metrics"
    " --ask-peers --allow-private --otlp http://127.0.0.1:4318 --otlp-query-text --max-lag 1.5"
    " --head-timeout 4 --grace 6 --quiet"
)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a server would begin with."""
    seen: list[Any] = []

    def run_server(application: Any, listener: Any, **how: Any) -> None:
        with listener:
            seen.append((listener.getsockname()[0], how))

    monkeypatch.setattr(serve, "with_pages", lambda config, link=None: seen.append(config))
    monkeypatch.setattr(serve, "run_server", run_server)
    return seen


def test_serve_obeys_each_of_its_flags(run: Run, clone: str, begun: list[Any]) -> None:
    assert run("serve", "--port", "0").exit_code == 0
    assert run("serve", "--port", "0", *FLAGS.split()).exit_code == 0
    personal = run("serve", "--port", "0", "--corpus", "personal")
    assert (personal.exit_code, "is not served" in personal.stderr) == (2, True)
    # without flags, what a Config has by itself
    assert begun == [
        Config(clone, hosts=("127.0.0.1",)),
        ("127.0.0.1", {"quiet": False, "head_timeout": 20, "grace": 30}),
        Config(clone, **SET),
        ("127.0.0.2", {"quiet": True, "head_timeout": 4, "grace": 6}),
    ]


def test_studio_is_for_this_machine_alone(run: Run, clone: str, begun: list[Any]) -> None:
    assert run("studio", "--timeout", "7.5").exit_code == 0
    assert begun == [
        Config(clone, timeout=7.5),
        ("127.0.0.1", {"quiet": True, "head_timeout": 20, "grace": 2}),
    ]


def test_mcp_obeys_each_of_its_flags(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Tools] = []
    monkeypatch.setattr(transport, "serve_stdio", served.append)
    run("corpus", "create", "docs")
    flags = "--corpus docs --record --write --ask-peers --allow-private"
    for given in ("", flags):
        assert run("mcp", *given.split()).exit_code == 0
    assert [
        (one.corpora, one.record, one.write, one.ask_peers, one.allow_private_peers)
        for one in served
    ] == [(None, False, False, False, False), (["docs"], True, True, True, True)]
    # one that cannot be read is not served
    assert run("mcp", "--corpus", "docs", "--corpus", "others").exit_code == 2
    assert len(served) == 2


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize(
    ("role", "said"), [("nosuch", "does not exist"), ("postgres", "permission denied to set role")]
)
def test_a_role_that_the_server_may_not_act_as_is_refused_at_once(
    run_on: Callable[[str], Run], clone: str, role: str, said: str
) -> None:
    admin = make_conninfo(clone, user="admin")
    refused = run_on(admin)("serve", "--port", 0, "--anonymous-role", role)
    assert refused.exit_code == 2, refused.output
    assert said in refused.stderr
    assert "hint: name one such as ragdb_reader, that is granted to the login" in refused.stderr


@pytest.mark.parametrize(
    ("verb", "extra"),
    [(("serve",), "http"), (("studio",), "http"), (("mcp",), "mcp")],
)
def test_a_server_whose_extra_is_missing_ends_as_any_verb_that_lacks_a_package(
    run: Run, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...], extra: str
) -> None:
    monkeypatch.setattr("ragdb.cli.serve.find_spec", lambda _: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    refused = run(*verb)
    assert refused.exit_code == 2
    assert f"hint: pip install 'ragdb-postgres[{extra}]'" in refused.stderr
