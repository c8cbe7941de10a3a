"""A retrieval that failed leaves a trace too."""

from __future__ import annotations

from tests.conftest import Connection
from tests.sql.signed_slices import one, replay


def test_a_failed_retrieval_under_a_slice_is_recorded_as_one(signed: Connection) -> None:
    fields = (
        "retrieval_mode, slice_id, anchor_chunk_id, policy_id, policy_params_hash, is_admissible"
    )
    for asked, expected in (
        ("anchor => 'gone'", ("slice", None, "gone", None, None, False)),
        ("slice_id => 'gone'", ("slice", "gone", None, None, None, False)),
        (
            "anchor => 'gone', policy => '{}'",
            ("slice", None, "gone", "slice_policy_v1", "02005444cae1117d", False),
        ),
        ("anchor => 'gone', policy => '{\"x\": 1}'", ("slice", None, "gone", None, None, False)),
        ("k => 5", ("global", None, None, None, None, False)),
    ):
        trace = one(
            signed, f"select ragdb.record_failure('chat', 'refunds', 'RG434', 2, {asked}) as id"
        )["id"]
        row = signed.execute(f"select {fields} from ragdb.get_trace(%s)", (trace,)).fetchone()
        assert row == expected
    trace = one(
        signed, "select ragdb.record_failure('chat', 'q', 'RG434', 2, anchor => 'x') as id"
    )["id"]
    assert replay(signed, trace)["cause"] == "failed_retrieval"
