"""`ragdb serve` behind PgBouncer: tenants share its few connections, and see only their own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.conftest import Server
from tests.embedding import one, put
from tests.http.conftest import Api, serve
from tests.pooler import pooler

TENANTS = ("acme", "globex")
# what only this tenant's corpus says
SECRETS = {"acme": "anvil", "globex": "hammock"}


@pytest.fixture
def pooled(server18: Server, clone: str) -> Iterator[Api]:
    with psycopg.connect(clone, autocommit=True) as db:
        for tenant in TENANTS:
            db.execute(f"create role {tenant} in role ragdb_writer")
            db.execute(f"grant {tenant} to reader")  # as which the server logs in
        for tenant in TENANTS:
            db.execute(f"set role {tenant}")
            db.execute("select ragdb.create_corpus(%s)", (tenant,))
            put(db, {f"{n}.txt": f"{SECRETS[tenant]} order {n}" for n in range(5)}, tenant)
            db.execute("reset role")
            db.execute("select ragdb.grant_corpus(%s, %s, 'write')", (tenant, tenant))
        tokens = {t: one(db, "select ragdb.create_http_token(%s, %s)", t, t) for t in TENANTS}
    try:
        with pooler(server18.folder, size=2) as bouncer:
            api = serve(bouncer.dsn(clone, "reader"), tokens, "--pool", "8")
            try:
                yield api
            finally:
                api.process.terminate()
                api.process.wait(120)
    finally:
        with psycopg.connect(clone, autocommit=True) as db:
            for tenant in TENANTS:
                db.execute(f"drop owned by {tenant}")
                db.execute(f"drop role {tenant}")


def test_two_tenants_behind_one_pooler_never_see_each_other(pooled: Api, clone: str) -> None:
    def ask(number: int) -> list[str]:
        mine = TENANTS[number % 2]
        other = TENANTS[1 - number % 2]
        wrong = []
        for word in SECRETS.values():
            path = f"/api/rag/search/global?corpus={mine}&query={word}&mode=lexical"
            found = pooled("GET", path, role=mine)
            texts = [hit["content"] for hit in found.body["results"]]
            if (len(texts) == 5) != (word == SECRETS[mine]):
                wrong.append(f"{mine} asked for {word}: {texts}")
        refused = pooled("GET", f"/api/rag/search/global?corpus={other}&query=x", role=mine)
        if refused.status != 404:
            wrong.append(f"{mine} read {other}: {refused.body}")
        listed: Any = pooled("POST", "/capabilities/rag.list_corpora@1.0", {}, role=mine)
        if [c["name"] for c in listed.body["output"]["corpora"]] != [mine]:
            wrong.append(f"{mine} sees {listed.body}")
        return wrong

    with ThreadPoolExecutor(8) as threads:
        problems = [line for lines in threads.map(ask, range(80)) for line in lines]
    assert problems == []
    # each trace is that of its tenant, and the connections are nobody's afterwards
    with psycopg.connect(clone) as db:
        asked = db.execute(
            "select distinct corpus, caller from ragdb.retrieval_traces order by corpus"
        ).fetchall()
    assert asked == [(tenant, tenant) for tenant in TENANTS]


def test_a_capability_names_its_trace_behind_a_pooler(pooled: Api, clone: str) -> None:
    for number in range(10):
        body = {"params": {"corpus": "acme"}, "input": {"query": f"nothing {number}"}}
        answer = pooled("POST", "/capabilities/rag.query@1.0", body, role="acme")
        with psycopg.connect(clone) as db:
            asked = one(
                db, "select query_text from ragdb.get_trace(%s)", answer.headers["Ragdb-Trace-Id"]
            )
        assert asked == f"nothing {number}"
