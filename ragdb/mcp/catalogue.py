"""How the tools that are always there describe themselves: titles, arguments, results."""

from __future__ import annotations

from ragdb.mcp import builtin, explaining, reading
from ragdb.mcp.shapes import (
    ANCHOR,
    AS_OF,
    CHUNK,
    CORPORA,
    CORPUS,
    IDS,
    LIST,
    MATCHING,
    MODE,
    NOTHING,
    PAGE,
    PICKING,
    QUERY,
    SHARE,
    TRACE,
    WORD,
    Builtin,
    K,
    count,
    result,
    string,
)

BUILTIN: dict[str, Builtin] = {
    "search": Builtin(
        "Search",
        "Finds passages of the corpora for a query, best first: id, title, url, how each begins.",
        {
            "query": QUERY,
            "corpora": CORPORA,
            "k": K,
            "mode": MODE,
            "as_of": AS_OF,
            **MATCHING,
            **PICKING,
        },
        ("query",),
        builtin.search,
        result(
            {
                "trace_id": string("The recorded retrieval, where it was recorded."),
                "note": string("What the search had to do without, or why it found nothing."),
                "did_you_mean": string("The query as it was probably meant."),
            },
            results={"type": "array", "items": result(id=WORD, title=WORD, url=WORD)},
        ),
        records=True,
    ),
    "fetch": Builtin(
        "Fetch",
        "Returns a passage in full by the id that search gave, with where it stands and the ids of"
        " its document and neighbours; or a document by its id, 200,000 characters at most.",
        {
            "id": string(
                "An id of search or list_documents, or one in the metadata of fetch: corpus/id;"
                " or corpus/source.",
                minLength=1,
            )
        },
        ("id",),
        builtin.fetch,
        result(
            id={"type": "string"},
            title={"type": "string"},
            text={"type": "string"},
            url={"type": "string"},
            metadata={"type": "object"},
        ),
    ),
    "search_slice": Builtin(
        "Search a slice",
        "Searches only what a policy admits around an anchor: the fingerprinted slice of a"
        " conversation or of documents. Provenance says which slice, policy and snapshot.",
        {
            "corpus": CORPUS,
            "query": QUERY,
            "anchor": string(
                "Id of the passage to build the slice around; else the best hit of the query."
            ),
            "policy": {
                "type": "object",
                "description": 'In full, or by reference {"policy_id": …}; else the default.',
            },
            "slice_id": string("A stored slice, in place of anchor and policy."),
            "k": K,
            "mode": MODE,
        },
        ("corpus", "query"),
        builtin.search_slice,
        result(chunks=LIST, provenance={"type": "object"}),
        records=True,
    ),
    "list_corpora": Builtin(
        "List corpora",
        "Lists the corpora that can be searched by name, with their sizes and languages.",
        PAGE,
        (),
        reading.list_corpora,
        result({"note": string("Whether there are more, or why there are none.")}, corpora=LIST),
    ),
    "get_trace": Builtin(
        "Show a recorded retrieval",
        "Returns everything that was recorded of a retrieval: query, settings, hashes, hits.",
        {"trace_id": TRACE},
        ("trace_id",),
        builtin.get_trace,
        result(trace={"type": "object"}, hits=LIST),
    ),
    "replay_trace": Builtin(
        "Replay a recorded retrieval",
        "Runs a recorded retrieval again and says whether it gives the same, and if not, why.",
        {"trace_id": TRACE},
        ("trace_id",),
        builtin.replay_trace,
        result(verdict={"type": "string"}),
    ),
    "validate_citations": Builtin(
        "Check citations",
        "Checks that what an answer cites was retrieved and says it: unknown or missing citations,"
        " quotes and numbers that the cited chunk has not. Proves reference, location and lexical"
        " support, not that a chunk implies a sentence.",
        {
            "output": {
                "type": "object",
                "description": 'The answer: {"answer", "citations": [{"source_id", "chunk_id",'
                ' "quote"}]}.',
            },
            "evidence": {"type": "object", "description": "An evidence pack."},
            "trace_id": TRACE,
            "corpus": string("Corpus of chunk_ids."),
            "chunk_ids": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Ids of the passages that are the evidence, beside corpus.",
            },
            "require_citations": {
                "type": "boolean",
                "description": "Whether there must be a citation; true unless given.",
            },
        },
        ("output",),
        builtin.validate_citations,
        result(valid={"type": "boolean"}, problems={"type": "array"}, checks=LIST),
    ),
    "facets": Builtin(
        "Count by fields",
        "Counts, exactly, the documents and passages that match a query by the values of fields,"
        " such as source, language or a key of the metadata.",
        {
            "fields": {**IDS, "maxItems": 20, "description": "Fields to count by."},
            "query": QUERY,
            "corpora": CORPORA,
            "most_values": count(100),
            **MATCHING,
        },
        ("fields",),
        reading.facets,
        result({"note": string("Which of the fields no document has.")}, facets=LIST),
    ),
    "count_matches": Builtin(
        "Count matches",
        "Counts the documents and passages that match a query, or all.",
        {"query": QUERY, "corpora": CORPORA, **MATCHING},
        (),
        reading.count_matches,
        result({"note": NOTHING}, documents={"type": "integer"}, chunks={"type": "integer"}),
    ),
    "list_documents": Builtin(
        "List documents",
        "Lists the documents of a corpus by their source, with ids that fetch accepts; count or"
        " prefix keeps the list short.",
        {
            "corpus": CORPUS,
            "prefix": string("How sources begin."),
            "after": string("The last source seen."),
            "count": count(100),
        },
        ("corpus",),
        reading.list_documents,
        result({"note": NOTHING}, documents=LIST),
    ),
    "ask": Builtin(
        "Answer from a corpus",
        "Answers a question by sentences of a corpus, with checked citations; says when the corpus"
        " does not say.",
        {
            "corpus": string(
                "Name of the corpus; may be left out of one, or beside retriever or rag.",
                minLength=1,
            ),
            "question": string("The question, in words.", minLength=1),
            "k": {**K, "description": "Passages to weigh; 8 unless given."},
            "mode": string(
                "Whether to retrieve: auto where the question needs it, required or no answer.",
                enum=["auto", "on", "required"],
            ),
            "rank_mode": MODE,
            "filter": MATCHING["filter"],
            "retriever": string("A retriever of a contract over the corpus."),
            "rag": string("A rag of a contract over the corpus."),
            "max_context": {"type": "integer", "minimum": 1, "description": "Tokens of evidence."},
            "min_score": {**SHARE, "description": "Least best score to answer."},
            "sentences": {
                "type": "integer",
                "minimum": 1,
                "maximum": 20,
                "description": "Sentences of the answer at most; 2 unless given.",
            },
        },
        ("question",),
        reading.ask,
        result(status={"type": "string"}, problems={"type": "array"}, proves={"type": "string"}),
        records=True,
    ),
    "build_pack": Builtin(
        "Pack evidence",
        "Packs the hits of a recorded retrieval, or passages by their chunk ids, into one text.",
        {
            "trace_id": TRACE,
            "chunk_ids": {**IDS, "description": "Ids of passages of corpus, in place of a trace."},
            "corpus": CORPUS,
            "max_context": {"type": "integer", "minimum": 1, "description": "Units of text."},
            "unit": string("Tokens of four characters, or characters.", enum=["token", "char"]),
        },
        (),
        reading.build_pack,
        result(canonical_text={"type": "string"}, hash={"type": "string"}, chunks=LIST),
    ),
    "resolve_anchor": Builtin(
        "Find an anchor",
        "Finds a chunk to build a slice around: by its id, a session, a query or the time.",
        {
            "corpus": CORPUS,
            "chunk_id": CHUNK,
            "session": string("Session of a conversation."),
            "query": QUERY,
            "project": string("Project of conversations."),
        },
        ("corpus",),
        reading.resolve_anchor,
        result({"note": NOTHING}, anchor=ANCHOR, resolved_by=ANCHOR),
    ),
    "list_traces": Builtin(
        "List recorded retrievals",
        "Lists the latest recorded retrievals, newest first. get_trace has all of one.",
        {
            "corpus": CORPUS,
            "since": string("Recorded then or later.", format="date-time"),
            "count": count(50),
        },
        (),
        reading.list_traces,
        result(traces=LIST),
    ),
    "list_eval_runs": Builtin(
        "List runs of evaluations",
        "Lists the latest runs of evaluations, newest first.",
        {"rag": string("Name of a rag."), "eval": string("Name of an eval."), "count": count(50)},
        (),
        reading.list_eval_runs,
        result(runs=LIST),
    ),
    "eval_report": Builtin(
        "Report a run",
        "Returns the report of a run of an evaluation.",
        {
            "run_id": string("Id of a run.", format="uuid"),
            "format": string(
                "md unless given.", enum=["md", "table", "tap", "junit", "csv", "json"]
            ),
        },
        ("run_id",),
        reading.eval_report,
        result(report={"type": "string"}),
    ),
    "list_promoted": Builtin(
        "List what was promoted",
        "Lists the latest statements and conclusions of a corpus, and what has become of their"
        " evidence.",
        {"corpus": CORPUS, "count": count(100)},
        ("corpus",),
        reading.list_promoted,
        result(atoms=LIST, proposals=LIST),
    ),
    "list_synonyms": Builtin(
        "List synonyms",
        "Lists the words of a corpus that stand for others.",
        {"corpus": CORPUS, **PAGE},
        ("corpus",),
        reading.list_synonyms,
        result({"note": string("Whether there are more.")}, synonyms=LIST),
    ),
    **explaining.TOOLS,
}
