"""The star: a sum over facts stays what it is when a dimension is joined by its key."""

from __future__ import annotations

import pytest

from ragdb import Database
from tests.conftest import Connection

DIMENSIONS = {
    "dim_corpus": ("corpus_id", "corpus"),
    "dim_policy": ("policy_key", "policy_id", "policy_params_hash"),
    "dim_error": ("error_code",),
    "dim_embedding_model": ("embedding_model",),
    "dim_date": ("day",),
    "dim_source": ("source_id",),
    "dim_eval_run": ("run_id",),
    "dim_case": ("case_id",),
}


@pytest.fixture
def two_policies(owner: Connection) -> Connection:
    """Two policies without a name of their own beside that of the demo, each with a retrieval."""
    db = Database(owner)
    anchor = str(db.resolve_anchor("demo", session="desk-2026-03")[0].anchor)
    for most in (3, 4):
        made = db.register_policy({"max_nodes": most})
        policy = {"policy_id": made.policy_id, "params_hash": made.params_hash}
        db.retrieve_slice("demo", "Is it refunded?", anchor=anchor, policy=policy, mode="lexical")
    db.refresh_rollups()
    return owner


def test_whatever_key_a_fact_shares_with_a_dimension_joins_it_once(
    two_policies: Connection,
) -> None:
    """A BI tool joins by columns of one name; so none that is not unique may have the same one."""
    joined = []
    shared = two_policies.execute(
        "select f.table_name, d.table_name, column_name from information_schema.columns f"
        " join information_schema.columns d using (table_schema, column_name)"
        " where table_schema = 'bi' and f.table_name ~ '^(fact|agg)_'"
    ).fetchall()
    for fact, dimension, key in shared:
        if key not in DIMENSIONS.get(dimension, ()):
            continue
        ((truth, counted),) = two_policies.execute(
            f"select (select count(*) from bi.{fact} where {key} is not null),"
            f" (select count(*) from bi.{fact} join bi.{dimension} using ({key}))"
        ).fetchall()
        # a source may be gone, and a run may have been asked for by a corpus alone
        assert counted == truth, (fact, dimension, key)
        joined.append((fact, dimension, key))
    assert len(joined) > 40
    for fact in ("fact_retrieval", "agg_retrieval_hour", "agg_retrieval_day"):
        assert [key for f, d, key in joined if (f, d) == (fact, "dim_policy")] == ["policy_key"]


@pytest.mark.parametrize("written", ["12.0", "1.2e1"])
def test_a_policy_shows_whole_numbers_however_they_were_written(
    owner: Connection, written: str
) -> None:
    policy = (
        f'{{"max_nodes": {written}, "max_radius": {written}, "max_siblings_per_node": {written}}}'
    )
    ((made,),) = owner.execute(
        "select params_hash from ragdb.register_policy(%s::jsonb)", (policy,)
    ).fetchall()
    shown = owner.execute(
        "select max_nodes, max_radius, max_siblings_per_node from bi.dim_policy"
        " where policy_params_hash = %s",
        (made,),
    ).fetchall()
    assert shown == [(12, 12, 12)]


@pytest.mark.parametrize("grain", ["hour", "day"])
def test_retrievals_by_policy_are_as_many_as_their_traces(
    two_policies: Connection, grain: str
) -> None:
    """The join that counted each retrieval of three policies without a name three times."""
    ((by_policy, policies),) = two_policies.execute(
        "select sum(retrievals), count(distinct policy_key)"
        f" from bi.agg_retrieval_{grain} join bi.dim_policy using (policy_key)"
    ).fetchall()
    ((truth,),) = two_policies.execute(
        "select count(*) from ragdb.retrieval_traces where policy_id is not null"
    ).fetchall()
    assert by_policy == truth > 2
    assert policies == 3
