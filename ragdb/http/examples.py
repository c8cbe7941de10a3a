"""An example of each request in the OpenAPI document. A test sends them all.

They are of the corpora that docs/http.md asks, which the folders of examples/tool-library become.
Ids that a database makes for itself are those of `MADE`.
"""

from __future__ import annotations

from typing import Any

ANCHOR = "1a3c5a02-0134-531a-8a74-1fe7cbae529e"
MADE: dict[str, Any] = {
    "trace": "019a9f3c-5d10-7c2e-8f21-3b6a0f6d2c11",
    "run": "019a9f3c-5d10-7c2e-8f21-3b6a0f6d2c12",
    "answer": "019a9f3c-5d10-7c2e-8f21-3b6a0f6d2c16",
    "job": "019a9f3c-5d10-7c2e-8f21-3b6a0f6d2c13",
    "atom": "019a9f3c-5d10-7c2e-8f21-3b6a0f6d2c14",
    "proposal": "019a9f3c-5d10-7c2e-8f21-3b6a0f6d2c15",
    "other": "8d2f0c0de4a84b7a9a3a4a3a5f0c8e12",
    "version": 41,
    "chunk": "6b1f0c0de4a84b7a9a3a4a3a5f0c8e11",
    "document": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
}
REFUND = "The deposit is kept only when a tool counts as lost."
QUESTION = "how long may I keep a tool"
SLICE = {
    "slice_id": "5c7a1f7d4e0b6c0a8a4e9c1b2d3f40516273849506a7b8c9d0e1f20314253647",
    "anchor_turn_id": ANCHOR,
    "turn_ids": [ANCHOR],
    "edge_count": 0,
    "policy_id": "slice_policy_v1",
    "policy_params_hash": "02005444cae1117d",
    "schema_version": "1.0.0",
    "graph_snapshot_hash": "6a1f7d4e0b6c0a8a4e9c1b2d3f40516273849506a7b8c9d0e1f2031425364758",
    "admissibility_token": "rgt1.k1.1763850000.1763853600."
    "7d4e0b6c0a8a4e9c1b2d3f40516273849506a7b8c9d0e1f203142536475869f0",
}

# By operation: what it has of path, query and body.
REQUESTS: dict[str, dict[str, Any]] = {
    "POST /api/search": {"body": {"query": QUESTION, "corpora": ["handbook"], "k": 3}},
    "POST /api/facets": {"body": {"query": "tool", "fields": ["source", "language"]}},
    "POST /api/count": {"body": {"query": "tool", "corpora": ["handbook"]}},
    "POST /api/explain/score": {
        "body": {"query": QUESTION, "corpus": "handbook", "chunk_id": MADE["chunk"]}
    },
    "POST /api/explain/missing": {
        "body": {"query": QUESTION, "corpus": "handbook", "chunk_id": MADE["chunk"], "k": 1}
    },
    "POST /api/quotes": {
        "body": {"corpus": "handbook", "chunk_id": MADE["chunk"], "quote": "weeks"}
    },
    "POST /api/ask": {"body": {"question": QUESTION, "corpus": "handbook"}},
    "POST /api/packs": {"body": {"trace_id": MADE["trace"], "max_context": 500}},
    "POST /api/citations": {
        "body": {
            "output": {
                "answer": "Four weeks.",
                "citations": [{"chunk_id": MADE["chunk"], "quote": "weeks"}],
            },
            "chunk_ids": [MADE["chunk"]],
            "corpus": "handbook",
        }
    },
    "GET /api/corpora": {},
    "POST /api/corpora": {"body": {"corpus": "minutes", "title": "Minutes of our meetings"}},
    "GET /api/corpora/{corpus}": {"path": {"corpus": "handbook"}},
    "DELETE /api/corpora/{corpus}": {
        "path": {"corpus": "minutes"},
        "query": {"reason": "we keep them elsewhere"},
    },
    "GET /api/corpora/{corpus}/documents": {
        "path": {"corpus": "handbook"},
        "query": {"prefix": "", "count": 10},
    },
    "GET /api/corpora/{corpus}/documents/{document}": {
        "path": {"corpus": "handbook", "document": MADE["document"]}
    },
    "PUT /api/corpora/{corpus}/documents/{document}": {
        "path": {"corpus": "handbook", "document": "handbook/kites.md"},
        "body": {"text": "# Kites\n\nA kite is lent for a week.", "metadata": {"year": 2026}},
    },
    "GET /api/corpora/{corpus}/pages/{page}": {
        "path": {"corpus": "handbook", "page": 1},
        "query": {"document": "handbook/safety.pdf"},
    },
    "DELETE /api/corpora/{corpus}/documents/{document}": {
        "path": {"corpus": "handbook", "document": MADE["document"]},
        "query": {"derived": "redact", "reason": "it is out of date"},
    },
    "GET /api/corpora/{corpus}/events": {
        "path": {"corpus": "handbook"},
        "query": {"after": 0, "count": 10},
    },
    "GET /api/corpora/{corpus}/feed": {"path": {"corpus": "handbook"}},
    "GET /api/corpora/{corpus}/feed/events": {
        "path": {"corpus": "handbook"},
        "query": {"after": 0, "count": 10},
    },
    "PUT /api/corpora/{corpus}/history": {
        "path": {"corpus": "handbook"},
        "body": {"days": 90},
    },
    "GET /api/corpora/{corpus}/history": {
        "path": {"corpus": "handbook"},
        "query": {"count": 10},
    },
    "GET /api/corpora/{corpus}/diff": {
        "path": {"corpus": "handbook"},
        "query": {"since": MADE["version"]},
    },
    "POST /api/corpora/{corpus}/erase": {
        "path": {"corpus": "handbook"},
        "body": {"source": "handbook/returns.md", "reason": "somebody asked us to"},
    },
    "POST /api/corpora/{corpus}/erase/speaker": {
        "path": {"corpus": "desk"},
        "body": {"speaker": "Kim", "session": "counter", "reason": "Kim asked us to"},
    },
    "DELETE /api/corpora/{corpus}/history": {"path": {"corpus": "handbook"}},
    "GET /api/corpora/{corpus}/synonyms": {"path": {"corpus": "handbook"}},
    "POST /api/corpora/{corpus}/synonyms": {
        "path": {"corpus": "handbook"},
        "body": {"words": ["deposit", "security"]},
    },
    "DELETE /api/corpora/{corpus}/synonyms": {
        "path": {"corpus": "handbook"},
        "query": {"word": "deposit"},
    },
    "POST /api/corpora/{corpus}/sessions/{session}/turns": {
        "path": {"corpus": "desk", "session": "counter"},
        "body": {
            "turns": [
                {"id": "1", "speaker": "Kim", "text": "How long may I keep the grinder?"},
                {"id": "2", "parent_id": "1", "role": "assistant", "text": "Four weeks."},
            ],
            "document": {"title": "At the counter"},
        },
    },
    "GET /api/corpora/{corpus}/edges": {
        "path": {"corpus": "handbook"},
        "query": {"chunk_id": MADE["chunk"], "count": 10},
    },
    "POST /api/corpora/{corpus}/edges": {
        "path": {"corpus": "handbook"},
        "body": {"edges": [{"parent": MADE["chunk"], "child": MADE["other"]}]},
    },
    "DELETE /api/corpora/{corpus}/edges": {
        "path": {"corpus": "handbook"},
        "query": {"parent": MADE["chunk"], "child": MADE["other"], "edge_type": "reference"},
    },
    "POST /api/slice": {"body": {"anchor_turn_id": ANCHOR}},
    "POST /api/slice/batch": {"body": {"anchor_turn_ids": [ANCHOR]}},
    "GET /api/slices": {"query": {"corpus": "desk"}},
    "POST /api/slice/graph": {
        "body": {"corpus": "desk", "anchor_turn_id": ANCHOR, "policy": {"max_nodes": 3}}
    },
    "POST /api/verify_token": {"body": SLICE},
    "GET /api/policies": {},
    "POST /api/policies": {"body": {"max_nodes": 3, "include_siblings": False}},
    "POST /api/anchors": {"body": {"query": "is the deposit refunded", "corpus": "desk"}},
    "POST /api/rag/search/slice": {
        "body": {"query": "is the deposit refunded", "anchor_turn_id": ANCHOR, "limit": 1}
    },
    "GET /api/rag/search/global": {"query": {"query": QUESTION, "corpus": "handbook", "limit": 1}},
    "GET /api/rag/search": {"query": {"query": QUESTION, "corpus": "handbook", "limit": 1}},
    "POST /api/atoms": {
        "body": {
            "trace_id": MADE["trace"],
            "chunk_ids": [ANCHOR],
            "text": REFUND,
            "sufficiency": "lenient",
        }
    },
    "GET /api/atoms": {"query": {"corpus": "desk"}},
    "GET /api/incidents": {"query": {"corpus": "desk"}},
    "POST /api/proposals": {
        "body": {"corpus": "desk", "atom_ids": [MADE["atom"]], "text": "Deposits are refunded."}
    },
    "GET /api/proposals": {"query": {"corpus": "desk", "state": "open"}},
    "POST /api/proposals/{id}/decision": {
        "path": {"id": MADE["proposal"]},
        "body": {"corpus": "desk", "decision": "accepted", "reason": "checked by the desk"},
    },
    "GET /api/traces": {"query": {"corpus": "handbook", "count": 10}},
    "GET /api/traces/{id}": {"path": {"id": MADE["trace"]}},
    "POST /api/traces/{id}/replay": {"path": {"id": MADE["trace"]}},
    "GET /api/traces/{id}/why-not": {
        "path": {"id": MADE["trace"]},
        "query": {"chunk_id": MADE["chunk"]},
    },
    "GET /api/answers": {"query": {"count": 10}},
    "GET /api/answers/{id}": {"path": {"id": MADE["answer"]}},
    "GET /api/gates": {"query": {"corpus": "handbook", "count": 10}},
    "GET /api/unanswered": {"query": {"corpus": "handbook"}},
    "GET /api/traffic": {"query": {"since": "2026-11-01T00:00:00Z", "until": "2026-12-01T00:00Z"}},
    "GET /api/status": {},
    "GET /api/corpora/{corpus}/map": {"path": {"corpus": "handbook"}, "query": {"count": 500}},
    "GET /api/evals": {},
    "GET /api/evals/cases": {"query": {"rag": "Desk"}},
    "POST /api/evals/cases": {
        "body": {"rag": "Desk", "query": "where can I park", "source": "handbook/lending.md"}
    },
    "GET /api/evals/runs/{id}": {"path": {"id": MADE["run"]}},
    "GET /api/evals/runs/{id}/compare": {
        "path": {"id": MADE["run"]},
        "query": {"baseline": MADE["run"]},
    },
    "POST /api/feedback": {
        "body": {"verdict": "good", "trace_id": MADE["trace"], "comment": "Just what I asked."}
    },
    "GET /api/feedback": {"query": {"corpus": "desk", "count": 10}},
    "GET /api/feedback/cases": {"query": {"corpus": "desk"}},
    "GET /api/evals/runs": {"query": {"count": 10}},
    "GET /api/evals/runs/{id}/report": {"path": {"id": MADE["run"]}, "query": {"format": "json"}},
    "POST /api/blobs": {"bytes": "# Kites\n\nKites are lent for a week.\n"},
    "GET /api/blobs": {"query": {"count": 10}},
    "DELETE /api/blobs/{cid}": {
        "path": {"cid": "sha256:c0813c0bda0f5cbcc63b450ce1cc4f9c0b44048f561328b8888c2c0eac5782a2"}
    },
    "GET /api/jobs/{id}": {"path": {"id": MADE["job"]}},
    "POST /api/events": {"body": {"count": 10}},
    "GET /capabilities": {},
    "POST /capabilities/rag.query@1.0": {
        "body": {"params": {"corpus": "handbook"}, "input": {"query": "deposit", "k": 1}}
    },
    "POST /capabilities/rag.ingest@1.0": {
        "body": {"params": {"corpus": "handbook"}, "input": {"doc_cid": MADE["document"]}}
    },
    "POST /capabilities/rag.list_corpora@1.0": {"body": {}},
    "POST /capabilities/embed.text@1.0": {
        "body": {"params": {"model": "minilm"}, "input": {"texts": ["kite"]}}
    },
    "GET /metrics": {},
    "GET /health": {},
    "GET /health/ready": {},
    "GET /health/live": {},
}


def show(document: dict[str, Any]) -> None:
    """Put the examples into an OpenAPI document."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            example = REQUESTS.get(f"{method.upper()} {path}", {})
            for parameter in operation.get("parameters", ()):
                given = example.get(parameter["in"], {})
                if parameter["name"] in given:
                    parameter["example"] = given[parameter["name"]]
            content = operation.get("requestBody", {}).get("content", {})
            for kind in content.values():
                if "body" in example:
                    kind["example"] = example["body"]
                elif "bytes" in example:
                    kind["example"] = example["bytes"]
