"""Methods. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, overload
from uuid import UUID

from ragdb.client._generated import calls, rows
from ragdb.client.calling import (
    Caller,
    Reals,
    choose,
)
from ragdb.client.results import Recorded, Rows


class Functions(Caller):
    """Every public SQL function, as a method."""

    def accept_move(self, header: Any, origin: str) -> None:
        """Makes a corpus that arrives from another database, origin, by the header that
        ragdb.begin_move returned there. Nobody sees it before ragdb.open_move. Raises RG400,
        RG401, RG409, RG411, RG416, RG417, RG455, RG457.
        """
        self._run(calls.ACCEPT_MOVE, locals())

    def add_edges(self, corpus: str, edges: Any) -> int:
        """Joins chunks of a corpus, turns of any sessions and chunks of documents, by at most
        10000 edges {"parent", "child", "edge_type"}: two chunk ids, and reply, branch,
        reference (the default) or default. Returns how many are new. They stay as long as
        both chunks. A reply within a session has the turns from it on derived anew. Raises
        RG400, RG401, RG404, RG406, RG412.
        """
        return self._value(calls.ADD_EDGES, locals())

    def add_eval_case(
        self,
        rag: str,
        eval: str,
        query: str,
        source: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> str | None:
        """Makes a case of an eval (null: the only one of the rag) of a question (up to 10000
        characters) that was not answered, and returns its name, or that of the case that asks
        the same already. It passes once the first hit scores as the gate of the corpus wants
        it, and once the source is among the hits, where one is given. An import leaves it;
        its tag is asked unless tags are given. Raises RG400, RG401, RG404, RG413, RG441.
        """
        return self._value(calls.ADD_EVAL_CASE, locals())

    def add_peer(
        self, name: str, public_key: bytes, url: str | None = None, trust: str = "member"
    ) -> None:
        """Adds a peer: its name here (1 to 64 of a-z, 0-9 and -), its public key of Ed25519 (32
        bytes), where its HTTP server is (null: nowhere), and its trust: member may be asked
        questions, trusted may also change shared corpora. Raises RG400, RG409.
        """
        self._run(calls.ADD_PEER, locals())

    def add_synonym_lists(self, corpus: str, lists: Any) -> int:
        """Adds lists of synonyms, an array of arrays of words, in one call, as
        ragdb.add_synonyms adds one. Returns the pairs that are new. Raises RG400, RG401,
        RG404, RG413.
        """
        return self._value(calls.ADD_SYNONYM_LISTS, locals())

    def add_synonyms(self, corpus: str, words: Sequence[str]) -> int:
        """Makes 2 to 50 words, or expressions of several, synonyms in a corpus: a query that has
        one of the single words also ranks by the others, at 0.7 of their weight. Returns the
        pairs that are new. Raises RG400, RG401, RG404, RG413.
        """
        return self._value(calls.ADD_SYNONYMS, locals())

    def advice(self) -> Rows[rows.Advice]:
        """Lists what is to be done in the corpora that the caller may read, for the workers, and
        (where the caller may ask for those) for the ledger, for roles that are gone and for
        transactions that stay open: each with the command or the statement that does it, and
        whether it is a fault; faults first.
        """
        return self._rows(calls.ADVICE, rows.Advice, locals())

    def announce_move(self, move_id: UUID | str, count: int = 1000) -> int:
        """Writes the events of up to count (1 to 1000) documents of a corpus that has arrived
        and that none tells of yet, and returns how many. Raises RG400, RG404, RG457.
        """
        return self._value(calls.ANNOUNCE_MOVE, locals())

    def answer_from_evidence(
        self,
        question: str,
        evidence: Any,
        max_sentences: int = 2,
        min_support: float = 0.4,
        gate: Any = None,
    ) -> Any:
        """Answers a question by the sentences of its evidence (a pack, or the input made of one)
        that have most of its terms, rare ones and chunks of a higher score counting more:
        answer, citations with quote, start and end in the chunk and answer_start and
        answer_end, support (0 to 1, by the share of the terms that the first of at most
        max_sentences, 1 to 20, has), and insufficient_evidence true where that is less than
        min_support (0 to 1). A document that does not name what the question names, by names
        and numbers, does not answer it; unnamed lists those that stand in the way. gate is
        the verdict of ragdb.rag_enough_context_gate, which says as what words of the question
        are read (read_as) and what has to be named (names); without it what differs in
        accents alone is the same, and all names count in the sentences that ask. Raises
        RG400, RG413, RG460.
        """
        return self._value(calls.ANSWER_FROM_EVIDENCE, locals())

    def append_turns(
        self, corpus: str, session: str, turns: Any, document: Any = None
    ) -> Rows[rows.AppendTurnsRow]:
        """Appends 0 to 10000 turns to a session, which begins with its first: an array of
        messages as ragdb.put_conversations takes them, each with an id of its own. A parent
        is a turn of the session. A turn without created_at is said now. Returns a row for
        each: its position from 0, its chunk id, what was derived of it, and whether it was
        there. A turn that is there is not written again; where it says anything else than
        before, it is refused. document is {"title", "language", "metadata"} of a session that
        is new. What is read and written does not grow with the session while its turns come
        in the order of their times. Raises RG400, RG401, RG404, RG409, RG412, RG413.
        """
        return self._rows(calls.APPEND_TURNS, rows.AppendTurnsRow, locals())

    @overload
    def apply_contract(self, contract: Any) -> rows.ApplyContractRow:
        """Puts a contract in force, in one transaction: makes its corpora, their grants (tenant:
        admin, acl: read) and embedders, and stores it as a new version unless nothing
        changed. Raises RG400, RG401, RG409, RG417, RG440.
        """

    @overload
    def apply_contract(
        self, contract: str, contract_name: str = "contract"
    ) -> rows.ApplyContractRow:
        """Puts the text of a contract (up to 10000000 characters, in the line syntax or as JSON)
        in force, as ragdb.apply_contract does for a contract in JSON. Raises RG400, RG401,
        RG409, RG413, RG417, RG440.
        """

    def apply_contract(self, *args: Any, **kwargs: Any) -> rows.ApplyContractRow:
        """apply_contract(contract)

        Puts a contract in force, in one transaction: makes its corpora, their grants (tenant:
        admin, acl: read) and embedders, and stores it as a new version unless nothing
        changed. Raises RG400, RG401, RG409, RG417, RG440.

        apply_contract(contract, contract_name='contract')

        Puts the text of a contract (up to 10000000 characters, in the line syntax or as JSON)
        in force, as ragdb.apply_contract does for a contract in JSON. Raises RG400, RG401,
        RG409, RG413, RG417, RG440.
        """
        call, given = choose((calls.APPLY_CONTRACT_1, calls.APPLY_CONTRACT_2), args, kwargs)
        return self._row(call, rows.ApplyContractRow, given)

    def apply_events(self, peer: str, corpus: str, page: Any) -> rows.ApplyEventsRow:
        """Takes a page of events of a peer into a shared corpus: {"feed", "head" (the last
        position of the peer), "events": [{"position", "event", "signature", "body"}]} as
        ragdb.list_shared_events returns them. It checks order, hashes, Lamport times and
        authors; the caller has checked the signatures. Returns how many events are new and
        known, what was put and erased, how many conflicts are open and sources wait for their
        text, the position to go on after, and whether that is the last. Raises RG400, RG401,
        RG404, RG409, RG412, RG490, RG491, RG492, RG493.
        """
        return self._row(calls.APPLY_EVENTS, rows.ApplyEventsRow, locals())

    def ask(
        self,
        corpus: str,
        question: str,
        mode: str = "on",
        k: int | None = None,
        rank_mode: str | None = None,
        max_context: int | None = None,
        gate: bool = True,
        min_chunks: int = 1,
        min_score: float | None = None,
        min_coverage: float = 0.5,
        require_citations: bool = True,
        sentences: int = 2,
        evidence: Any = None,
        plan: Any = None,
        retriever: str | None = None,
        rag: str | None = None,
        rerank: str | None = None,
        filter: Any = None,
        record: bool = True,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> rows.AskedAnswer:
        """Answers a question (at most 10000 characters) from a corpus (null: the only one that
        the caller may read, or none where evidence is given) in its own words, with citations
        that were checked, and records retrievals, gate and answer unless record is false.
        mode is off (only evidence, chunks that the caller gives), auto (retrieves where the
        plan needs it), on or required (status failed and the reason where it cannot be met).
        k (1 to 1000, default 8), rank_mode and filter are those of ragdb.search, max_context
        counts tokens (four characters each), gate, min_chunks, min_score and min_coverage are
        those of ragdb.rag_enough_context_gate, sentences (1 to 20) is the most of an answer;
        plan replaces that of ragdb.rag_query_plan; retriever or rag name one of a contract.
        Raises what ragdb.retrieve, ragdb.retrieve_with and ragdb.record_answer raise.
        """
        return self._row(calls.ASK, rows.AskedAnswer, locals())

    def ask_plan(
        self,
        question: str,
        policy: Any = None,
        has_evidence: bool = False,
        plan: Any = None,
        plan_problem: str | None = None,
    ) -> Any:
        """Begins to answer a question: returns a run, which ragdb.ask_weigh and ragdb.ask_verify
        go on with. policy has mode (off, auto, on, required), k (1 to 1000), max_context (1
        to 10000000, in unit token or char), gate (thresholds; null weighs nothing),
        require_citations and more; plan is that of a model, or plan_problem what is wrong
        with it. The run has queries to look up and depth, how many chunks each (k; five times
        as many, 50 at most, for "What is X?"), or none and the reason in summary, or status
        failed and the reason. Raises RG400, RG404, RG413.
        """
        return self._value(calls.ASK_PLAN, locals())

    def ask_retriever(
        self,
        corpus: str | None = None,
        retriever: str | None = None,
        rag: str | None = None,
        k: int | None = None,
        rank_mode: str | None = None,
    ) -> rows.AskedRetriever:
        """Returns what ragdb.ask looks up queries by: a corpus, the only one that the caller may
        read where nothing is named, or the retriever or rag of a contract that searches it,
        for k chunks (1 to 1000; 8 of a corpus, or as many as the retriever declares) by
        rank_mode, which a retriever declares. Raises RG400, RG404, RG417, RG441.
        """
        return self._row(calls.ASK_RETRIEVER, rows.AskedRetriever, locals())

    def ask_verify(
        self,
        run: Any,
        output: Any = None,
        problem: str | None = None,
        schema_problems: Sequence[str] | None = None,
        attempt: int = 1,
        elapsed_ms: float | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
    ) -> Any:
        """Ends a run of ragdb.ask_weigh: verifies an output that a task made for it, on record
        where its evidence is. problem says why there is no output, schema_problems (null: no
        schema) what a schema finds wrong with it; attempt (1 to 1000) counts the tries,
        elapsed_ms (milliseconds), input_tokens and output_tokens say what it took. The run
        has output, problems (sentences, none for an answer that holds), status, reason and
        summary. Raises RG400, RG460 and what ragdb.record_answer raises.
        """
        return self._value(calls.ASK_VERIFY, locals())

    def ask_weigh(self, run: Any, results: Any = None, evidence: Any = None) -> Any:
        """Goes on with a run of ragdb.ask_plan: fuses what was found for its queries (a result
        each: chunks, best first, and trace_id), packs it behind the caller's evidence
        (chunks) and weighs the pack, on record where its retrievals are. The run has pack and
        gate, output where the gate says no, or status failed and the reason. Raises RG400,
        RG460, RG471 and what ragdb.record_gate and ragdb.record_answer raise.
        """
        return self._value(calls.ASK_WEIGH, locals())

    def assert_run_passed(self, run_id: UUID | str) -> None:
        """Does nothing for a run that passed: in a script that stops at errors it is the gate.
        Raises RG443, RG444.
        """
        self._run(calls.ASSERT_RUN_PASSED, locals())

    def assertion_kinds(self) -> Rows[rows.AssertionKindsRow]:
        """Lists the kinds of ragAssert: the closed group of eleven (is_frozen) and the second
        group, the properties that each takes, and when it passes.
        """
        return self._rows(calls.ASSERTION_KINDS, rows.AssertionKindsRow, locals())

    def baseline_run(self, rag: str, eval: str, name: str = "main") -> UUID | None:
        """Returns the run that is the baseline of that name of an eval; null when there is none
        that the caller may see.
        """
        return self._value(calls.BASELINE_RUN, locals())

    def begin_move(
        self, corpus: str, destination: str, longest: timedelta | str = "00:00:10"
    ) -> rows.BeginMoveRow:
        """Begins to move a corpus to another database and returns the id of the move and the
        header that ragdb.accept_move takes there. The corpus stays as open as it is; what is
        written is noted. destination, up to 500 characters, is where who asks for it later is
        sent. It waits for writers of the corpus, at most longest (10 ms to 1 hour). Raises
        RG400, RG401, RG404, RG438, RG457, RG458.
        """
        return self._row(calls.BEGIN_MOVE, rows.BeginMoveRow, locals())

    def bind_embedder(self, name: str, provider: str, provider_model: str) -> rows.Embedders:
        """Binds an embedder to the provider that runs it: sentence-transformers, openai or hash;
        to a path, a hub or an endpoint only as an admin. Raises RG400, RG401, RG409, RG416,
        RG417.
        """
        return self._row(calls.BIND_EMBEDDER, rows.Embedders, locals())

    def bind_reranker(
        self,
        name: str,
        source: str,
        weights_sha256: str,
        max_tokens: int = 512,
        revision: str | None = None,
    ) -> rows.Rerankers:
        """Makes a reranker, or says where an existing one with the same weights and max_tokens
        lies: source is a path, or a name on the hub with its revision, weights_sha256 the
        digest of its model.safetensors (64 hex digits), max_tokens (8 to 1000000) what it
        reads of query and passage together. Raises RG400, RG409.
        """
        return self._row(calls.BIND_RERANKER, rows.Rerankers, locals())

    def bind_role(self, role: str, becomes: str | None = None) -> None:
        """Gives what dead roles of a name held (ragdb.dead_roles lists it) and their traces to
        the role of that name now, or to becomes. Only the owner of the database may. After a
        restore on another server: select ragdb.bind_role(role) from ragdb.dead_roles() where
        name_is_taken. Raises RG400, RG401, RG409.
        """
        self._run(calls.BIND_ROLE, locals())

    def bind_static(
        self, embedder: str, tokenizer: str, folding: str, digest: str, lexical_weight: float = 0.75
    ) -> rows.Embedders:
        """Ends the loading of a static embedder: from now on it runs inside the database.
        tokenizer is bpe, wordpiece or unigram, folding none, case or accents, digest that of
        all pieces (64 hex digits), lexical_weight (0 to 1) the share of the lexical leg in a
        hybrid search. Raises RG400, RG409, RG416, RG417, RG418.
        """
        return self._row(calls.BIND_STATIC, rows.Embedders, locals())

    def bless_run(self, run_id: UUID | str, name: str = "main", reason: str | None = None) -> None:
        """Makes a run a baseline of its eval, in place of the one of that name. Raises RG400,
        RG401, RG442, RG443.
        """
        self._run(calls.BLESS_RUN, locals())

    def build_evidence_pack(
        self,
        trace_id: UUID | str | None = None,
        chunk_ids: Sequence[str] | None = None,
        corpus: str | None = None,
        max_context: int | None = None,
        unit: str = "token",
    ) -> Any:
        """Returns the evidence that the hits of a trace (after its reranking, the ones
        returned), or chunks of a corpus by their ids, amount to: canonical_text in at most
        max_context (1 to 10000000, null: no limit) tokens (four characters each) or
        characters (unit: token or char), its hash (16 hex digits) and sha256, chunks, and
        omitted with the reason (budget, or gone or changed since the trace). Raises RG400,
        RG404, RG406, RG407.
        """
        return self._value(calls.BUILD_EVIDENCE_PACK, locals())

    def build_slice(
        self,
        corpus: str,
        anchor: str,
        policy: Any = None,
        sign: bool = True,
        as_of: int | None = None,
    ) -> rows.BuiltSlice:
        """Builds the slice that a policy (in full, by reference, or null for the default) admits
        around an anchor chunk, without writing: members, fingerprints and, with sign, the
        admissibility token. as_of is a version of a corpus that keeps its history: the slice
        is the one of then, and has no token, which vouches for evidence that is there. Raises
        RG400, RG404, RG430, RG431, RG433, RG434, RG437.
        """
        return self._row(calls.BUILD_SLICE, rows.BuiltSlice, locals())

    def build_slices(
        self, corpus: str, anchors: Sequence[str], policy: Any = None, sign: bool = True
    ) -> Rows[rows.BuildSlicesRow]:
        """Builds a slice for each of 1 to 1000 anchors; an anchor that does not exist gives a
        row with error_code and error instead. Raises RG400, RG404, RG430, RG431, RG433.
        """
        return self._rows(calls.BUILD_SLICES, rows.BuildSlicesRow, locals())

    def calibrate_gate(self, corpus: str) -> Rows[rows.CalibrateGateRow]:
        """Measures what a search must score at least (floor, 0.1 to 0.35, with embeddings to
        0.5) to be about what was asked, for each mode whose questions can be embedded: a
        quarter of the way from the median best score for questions about something else to
        that for pieces of the corpus. It runs by itself when a corpus has 50 chunks, again
        when they have doubled or halved (from 2,000 on, are four times or a quarter as many),
        after ragdb.optimize_corpus, and when a static embedder takes over. Raises RG400,
        RG401, RG404.
        """
        return self._rows(calls.CALIBRATE_GATE, rows.CalibrateGateRow, locals())

    def capabilities(
        self, prefix: str = "", after: str = "", count: int | None = None
    ) -> Rows[rows.CapabilitiesRow]:
        """Lists the wire capabilities that the caller can route to, rag.query once for each
        corpus and embed.text once for each embedder, with the trust they take (unknown <
        member < trusted < anchor), their limits and the JSON schemas of request and answer.
        rag.query and the corpora_available of rag.ingest are of the corpora whose name begins
        with a prefix and comes after a given one, the first count that the caller may read (1
        to 10000; null: all). Raises RG400.
        """
        return self._rows(calls.CAPABILITIES, rows.CapabilitiesRow, locals())

    def capability_schemas(self) -> Rows[rows.CapabilitySchemasRow]:
        """Lists the wire capabilities that there are, with the trust they take, their limits and
        the JSON schemas of request and answer.
        """
        return self._rows(calls.CAPABILITY_SCHEMAS, rows.CapabilitySchemasRow, locals())

    def challenge_eval(
        self,
        rag: str,
        eval: str | None = None,
        tags: Sequence[str] | None = None,
        rerank_scores: Any = None,
    ) -> Rows[rows.ChallengeEvalRow]:
        """Runs an eval (its first 500 cases) against 19 broken retrievers: a row for each,
        whether it changes any result of a case that passes (applies) and whether it is
        caught: cases fail then (count), or the metric of the eval misses its threshold; and a
        row for each case that catches none. rerank_scores is that of ragdb.run_eval. Raises
        RG404, RG415, RG417, RG441, RG442.
        """
        return self._rows(calls.CHALLENGE_EVAL, rows.ChallengeEvalRow, locals())

    def check_citations(
        self,
        output: Any,
        evidence: Any,
        trace_id: UUID | str | None = None,
        require_citations: bool = False,
        require_admissible: bool = False,
        min_coverage: float = 0.0,
        min_quote: int = 8,
        offsets: str = "codepoint",
    ) -> Rows[rows.CheckCitationsRow]:
        """Checks without a model the citations of an output against its evidence and the trace
        that retrieved it: a row for each citation (from 0) with code null and where its quote
        stands, or one for each problem; min_coverage (0 to 1) is the share of the answer that
        must be cited, min_quote the letters (1 to 1000; a Chinese one counts as two) of a
        quote, offsets what places are counted in (codepoint, utf16, byte). It proves
        reference, place and words, not that the answer follows. Raises RG400, RG407, RG460.
        """
        return self._rows(calls.CHECK_CITATIONS, rows.CheckCitationsRow, locals())

    def check_corpus(self, corpus: str, deep: bool = True) -> Rows[rows.CheckCorpusRow]:
        """Recounts and recomputes a corpus, or each of its parts and what is counted of them,
        and returns what differs from what is stored: no row means that all is well. With
        deep, every chunk is analysed again, which takes as long as indexing it. Raises RG400,
        RG404.
        """
        return self._rows(calls.CHECK_CORPUS, rows.CheckCorpusRow, locals())

    def check_move(
        self, move_id: UUID | str, after: int = 0, count: int = 1000
    ) -> Rows[rows.CheckMoveRow]:
        """Compares the next count (1 to 1000) documents of a corpus that arrives, after a
        number, with their hashes: returns the last number and the sources of those that
        differ; no row when all have been compared, and the lexical index is complete then.
        Raises RG400, RG457.
        """
        return self._rows(calls.CHECK_MOVE, rows.CheckMoveRow, locals())

    def citation_codes(self) -> Rows[rows.CitationCodesRow]:
        """Lists the codes of ragdb.check_citations, whether each is only advice, and what it
        means.
        """
        return self._rows(calls.CITATION_CODES, rows.CitationCodesRow, locals())

    def claim_embed_jobs(
        self,
        worker: str,
        count: int = 1,
        lease: timedelta | str = "00:02:00",
        only_embedder: str | None = None,
    ) -> Rows[rows.ClaimEmbedJobsRow]:
        """Claims up to count (1 to 100) requests of ragdb.embed_text that wait, for the time of
        the lease (1 s to 1 day); none for a caller without ragdb_writer. Commit before
        embedding; answer with ragdb.complete_embed_job() or ragdb.fail_embed_job(). Raises
        RG400.
        """
        return self._rows(calls.CLAIM_EMBED_JOBS, rows.ClaimEmbedJobsRow, locals())

    def claim_embeddings(
        self,
        worker: str,
        count: int = 256,
        lease: timedelta | str = "00:01:00",
        only_corpus: str | None = None,
        only_embedder: str | None = None,
        except_embedders: Sequence[str] = (),
    ) -> Rows[rows.ClaimEmbeddingsRow]:
        """Claims up to count (1 to 10000) inputs of one space that wait for an embedding, for
        the time of the lease (1 s to 1 day), of all corpora that the caller may write or of
        one with its parts, and of one embedder or all but some. A corpus that another
        transaction writes comes last, and is waited for half a second. Commit before
        computing. Raises RG400, RG401, RG404, RG416.
        """
        return self._rows(calls.CLAIM_EMBEDDINGS, rows.ClaimEmbeddingsRow, locals())

    def claim_ingest_jobs(
        self,
        worker: str,
        count: int = 1,
        lease: timedelta | str = "00:10:00",
        only_corpus: str | None = None,
        except_corpora: Sequence[str] = (),
    ) -> Rows[rows.ClaimIngestJobsRow]:
        """Claims up to count (1 to 100) blobs that wait to be read, for the time of the lease (1
        s to 1 day), of one or all corpora that the caller may write but some, with the
        chunking they shall get: 1000 tokens and 200 overlap, or 240 and 48 where the corpus
        has embeddings. Commit before reading; answer with ragdb.complete_ingest_job() or
        ragdb.fail_ingest_job(). Raises RG400, RG401, RG404.
        """
        return self._rows(calls.CLAIM_INGEST_JOBS, rows.ClaimIngestJobsRow, locals())

    def claim_queries(
        self,
        worker: str,
        count: int = 16,
        lease: timedelta | str = "00:01:00",
        only_embedder: str | None = None,
    ) -> Rows[rows.ClaimQueriesRow]:
        """Claims up to count (1 to 1000) queries that wait for an embedding, of corpora that the
        caller may write. Answer each with ragdb.put_query_embedding() or ragdb.fail_query().
        Raises RG400.
        """
        return self._rows(calls.CLAIM_QUERIES, rows.ClaimQueriesRow, locals())

    def close_http_session(self, session_hash: bytes) -> None:
        """Ends a session of a browser, by the SHA-256 of its secret. An unknown one is let pass."""
        self._run(calls.CLOSE_HTTP_SESSION, locals())

    def cluster_add_node(self, host: str, port: int = 5432) -> None:
        """Adds a node to a router: a whole ragdb of the same build. New corpora go to the node
        that has the fewest. Where it ends with an error, it goes on when it is called again.
        Takes a superuser. Raises RG459.
        """
        self._run(calls.CLUSTER_ADD_NODE, locals())

    def cluster_corpora(self) -> Rows[rows.ClusterCorporaRow]:
        """Lists at which node each corpus is that was made through a router, or came with a
        node; one that was dropped keeps its place. Takes a superuser. Raises RG459.
        """
        return self._rows(calls.CLUSTER_CORPORA, rows.ClusterCorporaRow, locals())

    def cluster_init(self, host: str, port: int = 5432) -> int:
        """Makes this database a router: host and port are those by which the nodes reach it.
        Schema ragdb_at then has each public function, which is called at the node of its
        corpus. Returns how many there are. Takes a superuser. Raises RG459.
        """
        return self._value(calls.CLUSTER_INIT, locals())

    def cluster_isolate(self, node: int, is_isolated: bool = True) -> None:
        """Says whether new corpora keep away from a node. Takes a superuser. Raises RG459."""
        self._run(calls.CLUSTER_ISOLATE, locals())

    def cluster_place(self, corpus: str, node: int) -> None:
        """Says at which node a corpus is from now on; it does not bring it there, as ragdb
        cluster move does. Takes a superuser. Raises RG459.
        """
        self._run(calls.CLUSTER_PLACE, locals())

    def cluster_remove_node(self, node: int) -> None:
        """Removes a node that has no corpora from a router; its database stays as it is, with
        what was recorded of corpora that moved away. Takes a superuser. Raises RG459.
        """
        self._run(calls.CLUSTER_REMOVE_NODE, locals())

    def cluster_routes(self) -> Rows[rows.ClusterRoutesRow]:
        """Lists where a router of several databases sends each public function: corpus (the node
        of its corpus), find (the first node that has what is named), each (node by node),
        latest (each node, and the newest of what they list), sum (each node, and the sums of
        what they count), all (the router and each node), some (the first node that has work),
        space (the node that a number says), last (the node asked last), here (the router
        itself) or refused, with the reason.
        """
        return self._rows(calls.CLUSTER_ROUTES, rows.ClusterRoutesRow, locals())

    def cluster_status(self) -> Rows[rows.ClusterStatusRow]:
        """Lists the nodes of a router with the number of corpora that were put on each, and the
        problem where one does not answer. Takes a superuser. Raises RG459.
        """
        return self._rows(calls.CLUSTER_STATUS, rows.ClusterStatusRow, locals())

    def compare_runs(
        self,
        baseline: UUID | str,
        run_id: UUID | str,
        seed: str = "ragdb",
        resamples: int = 10000,
        tolerance: float = 0.01,
    ) -> Rows[rows.CompareRunsRow]:
        """Compares a run with a baseline: the verdict of all (metric null) and of each metric,
        improved, regressed, within_noise, inconclusive, incomparable, stale_labels or
        no_baseline. A required assertion that passed and fails now is a regression, and so is
        a case that found something and finds nothing now where neither labels nor assertions
        judge it; a metric is one by a paired sign-flip test (resamples 100 to 100000, decided
        by the seed, Holm over metrics) beyond the tolerance (0 to 1, at least 2 % of the
        baseline); min_relevance and judged@k count for all only where the eval has that
        metric. smallest_effect is null where there are too few cases to tell any. Raises
        RG400, RG443.
        """
        return self._rows(calls.COMPARE_RUNS, rows.CompareRunsRow, locals())

    def compare_spaces(
        self,
        corpus: str,
        embedder: str,
        queries: Sequence[str],
        current_embeddings: Reals | Sequence[float],
        embeddings: Reals | Sequence[float],
        k: int = 10,
        mode: str = "hybrid",
    ) -> Rows[rows.CompareSpacesRow]:
        """Compares the current space of a corpus with its space of another embedder, query by
        query: the share of the k (1 to 100) best that both find (0 to 1), and the nDCG of
        each where an eval of the corpus labels the query; mode is semantic or hybrid,
        embeddings of the queries by both embedders come one behind the other. Raises RG400,
        RG401, RG404, RG415, RG416, RG418.
        """
        return self._rows(calls.COMPARE_SPACES, rows.CompareSpacesRow, locals())

    def complete_embed_job(
        self, job_id: UUID | str, attempt: int, embeddings: Reals | Sequence[float]
    ) -> None:
        """Stores the embeddings of a claimed request, one behind the other in the order of its
        texts. Raises RG418, RG453.
        """
        self._run(calls.COMPLETE_EMBED_JOB, locals())

    def complete_embeddings(
        self,
        space_id: int,
        input_hashes: Sequence[bytes],
        attempts: Sequence[int],
        embeddings: Reals | Sequence[float],
    ) -> int:
        """Stores the embeddings (one behind the other) of claimed inputs for all chunks that
        have these inputs still, and returns how many chunks that is; claims lost meanwhile
        are left alone. Raises RG400, RG404, RG418.
        """
        return self._value(calls.COMPLETE_EMBEDDINGS, locals())

    def complete_ingest_job(
        self, job_id: UUID | str, attempt: int, document: Any
    ) -> rows.PutResult:
        """Stores the document that a claimed blob is, in the form of ragdb.put_documents or,
        with messages, of ragdb.put_conversations, with who asked for it as the author of its
        event, and ends the job. Raises RG409, RG412, RG413, RG453.
        """
        return self._row(calls.COMPLETE_INGEST_JOB, rows.PutResult, locals())

    def corpora_with_chunks(self, chunk_ids: Sequence[str]) -> list[str]:
        """Returns the names of the corpora that the caller may read and that have a chunk of one
        of these ids, without personal.
        """
        return self._values(calls.CORPORA_WITH_CHUNKS, locals())

    def corpus_embedder(self, corpus: str) -> rows.Embedders | None:
        """Returns the embedder that a corpus is searched by; no row when it has no embeddings.
        Raises RG400, RG404.
        """
        return self._row_if_any(calls.CORPUS_EMBEDDER, rows.Embedders, locals())

    def corpus_event_envelopes(self, corpus: str, after: int = 0, count: int = 100) -> Any:
        """Returns the events of a corpus after a tick (0: from the beginning), oldest first, at
        most count (1 to 10000), as ragdb.event_envelopes does; next is the number to pass as
        after. Raises RG400, RG401, RG404, RG438.
        """
        return self._value(calls.CORPUS_EVENT_ENVELOPES, locals())

    def corpus_events(
        self, corpus: str, after: int = 0, count: int = 100
    ) -> Rows[rows.CorpusEventsRow]:
        """Returns the events of a corpus after a tick (0: from the beginning), oldest first, at
        most count (1 to 10000). To go on, pass the lamport of the last one as after. Raises
        RG400, RG401, RG404, RG438.
        """
        return self._rows(calls.CORPUS_EVENTS, rows.CorpusEventsRow, locals())

    def corpus_info(self, corpus: str) -> rows.CorpusInfoRow:
        """Returns one corpus as ragdb.list_corpora does, with how it is searched, its lexemes
        (each occurrence counted), the caller's right to it, the floors of its gate by mode
        (null: not measured yet), how many chunks came since ragdb.optimize_corpus, and the
        embedder that it is searched by (null: by words alone). Raises RG400, RG404.
        """
        return self._row(calls.CORPUS_INFO, rows.CorpusInfoRow, locals())

    def count_corpora(self, with_personal: bool = True) -> rows.CountCorporaRow:
        """Counts the corpora that the caller may read, with the personal one or without it, and
        what they have together: documents, chunks, tokens, bytes and spaces of embeddings.
        """
        return self._row(calls.COUNT_CORPORA, rows.CountCorporaRow, locals())

    @overload
    def count_matches(
        self,
        corpora: Sequence[str] | None = None,
        query: str | None = None,
        filter: Any = None,
        syntax: str = "plain",
    ) -> rows.CountMatchesRow:
        """Counts the documents and chunks of several corpora (null: all that the caller may
        read) that match a query (null: everything) under a filter, as ragdb.facets does.
        Raises RG400, RG401, RG404, RG410.
        """

    @overload
    def count_matches(
        self, corpus: str, query: str, filter: Any = None, syntax: str = "plain"
    ) -> rows.CountMatchesRow:
        """Counts the documents and chunks of a corpus (null: all that the caller may read) that
        match a query (null: everything) under a filter, as ragdb.facets does. Raises RG400,
        RG401, RG404, RG410.
        """

    def count_matches(self, *args: Any, **kwargs: Any) -> rows.CountMatchesRow:
        """count_matches(corpora=None, query=None, filter=None, syntax='plain')

        Counts the documents and chunks of several corpora (null: all that the caller may
        read) that match a query (null: everything) under a filter, as ragdb.facets does.
        Raises RG400, RG401, RG404, RG410.

        count_matches(corpus, query, filter=None, syntax='plain')

        Counts the documents and chunks of a corpus (null: all that the caller may read) that
        match a query (null: everything) under a filter, as ragdb.facets does. Raises RG400,
        RG401, RG404, RG410.
        """
        call, given = choose((calls.COUNT_MATCHES_1, calls.COUNT_MATCHES_2), args, kwargs)
        return self._row(call, rows.CountMatchesRow, given)

    def create_corpus(
        self,
        corpus: str,
        title: str | None = None,
        text_config: str = "english",
        k1: float = 1.2,
        b: float = 0.75,
        record_query_text: str = "full",
        is_restricted: bool = False,
        history: timedelta | str | None = None,
        part_of: str | None = None,
    ) -> None:
        """Creates an empty corpus, embedded by the default embedder if there is one: name 1 to
        64 of a-z, 0-9 and -, text configuration of pg_catalog, k1 0 to 10, b 0 to 1,
        record_query_text full, hash or none; is_restricted makes it the caller's and the
        admins' alone until ragdb.grant_corpus; history is for how long it can be searched as
        it was (null: not at all). part_of makes it a part of a corpus without documents,
        which is searched with all of its parts as one: with the settings of that, and with
        its rights until it is restricted itself. Whoever makes another corpus waits until the
        transaction ends. Raises RG400, RG401, RG404, RG409, RG411.
        """
        self._run(calls.CREATE_CORPUS, locals())

    def create_embedder(
        self,
        name: str,
        dims: int,
        model: str | None = None,
        metric: str = "cosine",
        max_tokens: int = 256,
        revision: str | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        weights_sha256: str | None = None,
    ) -> rows.Embedders:
        """Creates an embedder, or returns it when it exists with the same promises; dims 1 to
        4000, metric cosine, ip or l2, weights_sha256 64 hex digits. Raises RG400, RG409.
        """
        return self._row(calls.CREATE_EMBEDDER, rows.Embedders, locals())

    def create_http_token(
        self, role: str, name: str, expires_in: timedelta | str | None = None
    ) -> str:
        """Makes a bearer token of the HTTP server for a role that the caller may act as, and
        returns it this once: only its hash is kept. Raises RG400, RG401, RG409.
        """
        return self._value(calls.CREATE_HTTP_TOKEN, locals())

    def create_signing_key(self, key_id: str | None = None) -> str:
        """Makes the key that signs from now on, keeps its secret in this database, and returns
        its id; the key that signed before still verifies. Raises RG400, RG401, RG409.
        """
        return self._value(calls.CREATE_SIGNING_KEY, locals())

    def cutover_corpus(self, corpus: str, embedder: str, force: bool = False) -> int:
        """Makes the second space of a corpus the current one, in one transaction, and keeps the
        other for a rollback; refused while chunks are missing unless forced. Raises RG400,
        RG401, RG404, RG409, RG416.
        """
        return self._value(calls.CUTOVER_CORPUS, locals())

    def dead_roles(self) -> Rows[rows.DeadRolesRow]:
        """Lists the roles that are gone and still hold something (personal, grants, tokens,
        uploads, jobs, contracts, quotas, traces), and whether another role has the name now.
        After a restore on another server that is every role.
        """
        return self._rows(calls.DEAD_ROLES, rows.DeadRolesRow, locals())

    def decide_proposal(
        self, corpus: str, proposal_id: UUID | str, decision: str, reason: str | None = None
    ) -> rows.DecideProposalRow:
        """Accepts or rejects an open proposal, once, and returns code ACCEPTED or REJECTED; or
        changes nothing and returns PROPOSAL_UNKNOWN, ALREADY_DECIDED, or, for an acceptance
        whose slice or atoms are not what they were, EVIDENCE_CHANGED with the detail and an
        incident. Raises RG400, RG401, RG404, RG435.
        """
        return self._row(calls.DECIDE_PROPOSAL, rows.DecideProposalRow, locals())

    def delete_document(
        self, corpus: str, document: str, derived: str = "redact", reason: str | None = None
    ) -> rows.DeleteDocumentRow:
        """Removes a document, named as for ragdb.get_document, with all its sources and chunks,
        and what was derived from it, as ragdb.delete_source does; returns how many documents
        and chunks went. The same bytes under another name stay. Raises RG400, RG401, RG404,
        RG405, RG425.
        """
        return self._row(calls.DELETE_DOCUMENT, rows.DeleteDocumentRow, locals())

    def delete_source(
        self, corpus: str, uri: str, derived: str = "redact", reason: str | None = None
    ) -> rows.DeleteSourceRow:
        """Forgets one source, and its document when that was the last one; returns how many
        documents and chunks went. When no other document has its bytes, atoms and proposals
        that rest on chunks that go lose their texts (derived: redact) or go too (erase),
        which is recorded with the reason (up to 10000 characters). Raises RG400, RG401,
        RG404, RG405.
        """
        return self._row(calls.DELETE_SOURCE, rows.DeleteSourceRow, locals())

    def delete_sources(
        self, corpus: str, uris: Sequence[str], derived: str = "redact", reason: str | None = None
    ) -> rows.DeleteSourcesRow:
        """Forgets those of some sources that a corpus has, each as ragdb.delete_source does;
        returns how many documents and chunks went. Raises RG400, RG401, RG404.
        """
        return self._row(calls.DELETE_SOURCES, rows.DeleteSourcesRow, locals())

    @overload
    def did_you_mean(
        self, corpora: Sequence[str] | None = None, query: str | None = None, syntax: str = "plain"
    ) -> str | None:
        """Returns what the first of several corpora (null: all that the caller may read) says
        that a query probably meant by words that all of them lack; null where none does.
        Raises RG400, RG404.
        """

    @overload
    def did_you_mean(self, corpus: str, query: str, syntax: str = "plain") -> str | None:
        """Returns a query with the words that a corpus lacks replaced by those that were
        probably meant, as its chunks write them: what differs in accents alone, else what is
        one edit away, or another ending of it; null where there are none, and where half of
        the query or more is lacking and that is so for less than half of it. Raises RG400,
        RG404.
        """

    def did_you_mean(self, *args: Any, **kwargs: Any) -> str | None:
        """did_you_mean(corpus, query, syntax='plain')

        Returns a query with the words that a corpus lacks replaced by those that were
        probably meant, as its chunks write them: what differs in accents alone, else what is
        one edit away, or another ending of it; null where there are none, and where half of
        the query or more is lacking and that is so for less than half of it. Raises RG400,
        RG404.

        did_you_mean(corpora=None, query=None, syntax='plain')

        Returns what the first of several corpora (null: all that the caller may read) says
        that a query probably meant by words that all of them lack; null where none does.
        Raises RG400, RG404.
        """
        call, given = choose((calls.DID_YOU_MEAN_1, calls.DID_YOU_MEAN_2), args, kwargs)
        return self._value(call, given)

    def diff_corpus(
        self,
        corpus: str,
        since: int,
        until: int | None = None,
        prefix: str = "",
        after: str = "",
        count: int | None = None,
    ) -> Rows[rows.DiffCorpusRow]:
        """Returns the sources whose documents differ between two versions of a corpus (until
        null: today), in the order of their bytes: change is added, deleted, replaced (other
        bytes), changed (the same bytes with another title or metadata, or a conversation that
        grew), or erased: what was there was erased on purpose, so that nothing can be said of
        it. Of the sources those are returned that begin with a prefix and come after a given
        one, at most count (1 to 10000; null: all). Raises RG400, RG404, RG437.
        """
        return self._rows(calls.DIFF_CORPUS, rows.DiffCorpusRow, locals())

    def document_chunks(
        self, corpus: str, document: str, first: int = 0, count: int | None = None
    ) -> Rows[rows.Chunk]:
        """Returns the chunks of a document, named as for ragdb.get_document, in order: all, or
        count (1 or more) from the ordinal first on. Raises RG400, RG404, RG405, RG425.
        """
        return self._rows(calls.DOCUMENT_CHUNKS, rows.Chunk, locals())

    def document_text(self, corpus: str, document: str) -> str | None:
        """Returns the text of a document, named as for ragdb.get_document, as its chunks have
        it: each character once, with a line end or two for white space that no chunk has;
        null without chunks. Raises RG400, RG404, RG405, RG425.
        """
        return self._value(calls.DOCUMENT_TEXT, locals())

    def document_versions(
        self, corpus: str, document: str, count: int = 20
    ) -> Rows[rows.DocumentVersionsRow]:
        """Returns when a document, named as for ragdb.get_document, was put under its first
        source and by whom, newest first, at most count (1 to 10000); doc_cid is the identity
        of its bytes then. The texts of earlier versions are not kept. Raises RG400, RG404,
        RG405, RG425.
        """
        return self._rows(calls.DOCUMENT_VERSIONS, rows.DocumentVersionsRow, locals())

    def draft_events(self, corpus: str, count: int = 1000) -> list[str]:
        """Returns the events to sign of what was changed in a shared corpus, at most count (1 to
        1000), and keeps others from changing it to the end of the transaction. What is signed
        of each are the bytes "ragdb-event/1", a line feed, and its text in UTF-8. Raises
        RG400, RG401, RG404, RG413, RG433, RG491.
        """
        return self._values(calls.DRAFT_EVENTS, locals())

    def drop_access_events_before(self, before: date) -> int:
        """Drops the events of access before a day (UTC), records that as an event, and returns
        their number. It waits for who records one, and holds up nobody. Raises RG400.
        """
        return self._value(calls.DROP_ACCESS_EVENTS_BEFORE, locals())

    def drop_blob(self, cid: str) -> None:
        """Takes back a blob that the caller has put and that no corpus has because of it; its
        bytes go with the last who has put them. A member of ragdb_admin takes it from all who
        have put it. A job that waits to read it fails. Raises RG408, RG409.
        """
        self._run(calls.DROP_BLOB, locals())

    def drop_corpus(self, corpus: str, reason: str | None = None) -> None:
        """Removes a corpus with its documents, index, grants and events, and erases its atoms
        and proposals, which is recorded with the reason (up to 10000 characters); its traces
        and evaluation runs stay. Raises RG400, RG401, RG404.
        """
        self._run(calls.DROP_CORPUS, locals())

    def drop_eval_runs_before(
        self, before: date, reason: str | None = None
    ) -> Rows[rows.DropEvalRunsBeforeRow]:
        """Drops the runs of evals before a day (UTC), with their cases, assertions and metrics,
        of every corpus, and returns how many of each. Baselines stay, and so does the latest
        run of each eval. An act in the ledger names each run that went, and the reason (up to
        10000 characters). Raises RG400.
        """
        return self._rows(calls.DROP_EVAL_RUNS_BEFORE, rows.DropEvalRunsBeforeRow, locals())

    def drop_history(self, corpus: str) -> int:
        """Removes the history of a corpus, on record, and has it keep none, and returns how many
        rows it had. Raises RG400, RG401, RG404.
        """
        return self._value(calls.DROP_HISTORY, locals())

    def drop_kept_queries_before(self, before: date) -> Rows[rows.DropKeptQueriesBeforeRow]:
        """Drops what ragdb.put_query_embedding and ragdb.embed_query kept under questions, or
        has waited for a worker, since before a day (UTC), of every corpus, with the
        embeddings that no trace names, and returns how many of each. Who asks such a question
        by meaning again has it embedded again. A transaction of repeatable read leaves the
        embeddings to the next call. Raises RG400.
        """
        return self._rows(calls.DROP_KEPT_QUERIES_BEFORE, rows.DropKeptQueriesBeforeRow, locals())

    def drop_part_statistics(self, corpus: str, part: str) -> int:
        """Has the statistics of a corpus count a part on another server no more, because it is
        gone or has come here, and returns how many lexemes that changed. Raises RG400, RG401,
        RG404.
        """
        return self._value(calls.DROP_PART_STATISTICS, locals())

    def drop_space(self, corpus: str, embedder: str) -> None:
        """Drops the space of a corpus under an embedder with all its embeddings. Raises RG400,
        RG401, RG404, RG416.
        """
        self._run(calls.DROP_SPACE, locals())

    def drop_traces_before(self, before: date) -> Rows[rows.DropTracesBeforeRow]:
        """Drops the traces of whole months (UTC) that ended before a day, of every corpus, with
        their rerankings, gates, answers and feedback, and the embeddings of questions that no
        later trace names, and returns each month with the number of traces and hits dropped.
        It waits for who reads or writes traces, and holds up nobody while it waits. Raises
        RG400.
        """
        return self._rows(calls.DROP_TRACES_BEFORE, rows.DropTracesBeforeRow, locals())

    def embed(self, text: str, embedder: str | None = None) -> list[float]:
        """Returns the embedding of a text (its first 65,536 characters) by a static embedder,
        the default one unless another is named, of length 1. That of a chunk weighs its title
        and headings apart. Raises RG400, RG416.
        """
        return self._value(calls.EMBED, locals())

    def embed_corpus(
        self, corpus: str, embedder: str | None = None, m: int = 16, ef_construction: int = 128
    ) -> int | None:
        """Has a corpus embedded by an embedder (null: the default one) from now on, and returns
        its space; once it is, by no other. m 2 to 100, ef_construction 2 m to 1000. Raises
        RG400, RG401, RG404, RG416, RG417.
        """
        return self._value(calls.EMBED_CORPUS, locals())

    def embed_query(self, query: str, corpus: str | None = None, timeout_s: float = 30.0) -> None:
        """Has a running worker embed a query for one corpus or all readable ones that have
        embeddings, and waits up to timeout_s (0 to 3600); from then on everyone can search by
        its meaning. Call it outside a transaction block. Raises RG400, RG401, RG404, RG415,
        RG419, RG420.
        """
        self._run(calls.EMBED_QUERY, locals())

    def embed_text(self, request: Any) -> Any:
        """Capability embed.text@1.0: {"params": {"model"}, "input": {"texts" (1 to 256 of 1 to
        8192 characters), "normalize" (true)}} gives {"output": {"embeddings", "dim"}, "meta":
        {"model", "ms"}}, by an embedder and without its prefixes; or {"error"} with
        not_found, bad_request, unauthorized, rate_limited, capacity_exceeded, or partition
        while a worker embeds the texts.
        """
        return self._value(calls.EMBED_TEXT, locals())

    def embedding_status(
        self,
        only_corpus: str | None = None,
        only_lacking_index: bool = False,
        prefix: str = "",
        after: str = "",
        count: int | None = None,
    ) -> Rows[rows.EmbeddingStatusRow]:
        """Lists the spaces of one corpus, those of its parts where it has any, or of all that
        the caller may read, or those of them that lack an index: coverage (0 to 1), chunks
        that wait, inputs in work, failing and dead, the age of the oldest job and the last
        error. They come by the names of their corpora: those that begin with a prefix and
        come after a given one, at most count (1 to 10000; null: all) and what else the last
        corpus has. Raises RG400, RG401, RG404.
        """
        return self._rows(calls.EMBEDDING_STATUS, rows.EmbeddingStatusRow, locals())

    def erase_caller(
        self,
        caller: str,
        corpus: str | None = None,
        reason: str | None = None,
        caller_oid: int | None = None,
    ) -> rows.EraseCallerRow:
        """Erases what one role asked and said, in a corpus or (null) in all: its traces with
        their hits, rerankings, gates, answers and feedback, the gates, answers and feedback
        that it recorded of what others asked, and the embeddings of questions that nobody
        else asked; returns how many traces, answers, gates and feedback went. Acts in the
        ledger name each row, with the reason (up to 10000 characters), and not the role. It
        means the role that has the name now, or where there is none all that had it;
        caller_oid names an earlier one. It waits for who records a retrieval, and holds up
        nobody. A notice says so where nothing was left. Raises RG400, and 25006 where nothing
        can be written.
        """
        return self._row(calls.ERASE_CALLER, rows.EraseCallerRow, locals())

    def erase_source(self, corpus: str, uri: str, reason: str | None = None) -> rows.EraseSourceRow:
        """Deletes a source as ragdb.delete_source with derived => 'erase' does, and takes what
        was ever found there out of the history of the corpus, so that no version has it, and
        out of its conflicts with peers; ragdb.diff_corpus names the source as erased. Words
        that no other text of the corpus has leave its dictionary. A document that has another
        source today stays. Returns how many documents, chunks and rows of the history went.
        Raises RG400, RG401, RG404, RG405.
        """
        return self._row(calls.ERASE_SOURCE, rows.EraseSourceRow, locals())

    def erase_speaker(
        self, corpus: str, speaker: str, session: str | None = None, reason: str | None = None
    ) -> rows.EraseSpeakerRow:
        """Erases what a speaker said in the conversations of a corpus, in one session or in all
        (null): the turns, what was derived from them, the original files that had them, and
        what versions, and conflicts with peers, kept of them. What others said stays; what
        answered an erased turn begins anew. Returns how many turns, documents without another
        turn, and rows of the history went. Raises RG400, RG401, RG404, RG406.
        """
        return self._row(calls.ERASE_SPEAKER, rows.EraseSpeakerRow, locals())

    def erase_traces(self, corpus: str, reason: str | None = None) -> rows.EraseTracesRow:
        """Erases the traces of dropped corpora of a name, with their hits, rerankings, gates,
        answers and feedback, and their runs of evals, and returns how many traces, answers
        and runs went; the act in the ledger has the reason (up to 10000 characters). The
        words that static embedders keep go too, of all corpora. It waits for who records a
        retrieval or fills a corpus, and holds up nobody. A notice says so where nothing was
        left. Raises RG400.
        """
        return self._row(calls.ERASE_TRACES, rows.EraseTracesRow, locals())

    def error_codes(self) -> Rows[rows.ErrorCodesRow]:
        """Lists every SQLSTATE of class RG with its class name in Python, its wire word, its
        HTTP status and its meaning.
        """
        return self._rows(calls.ERROR_CODES, rows.ErrorCodesRow, locals())

    def eval_assert_results(
        self, run_id: UUID | str, after: int = 0, last: int | None = None
    ) -> Rows[rows.EvalAssertResults]:
        """Returns the outcome of every assertion of a run in their order, of the cases whose
        number is greater than after, up to last (null: all). Raises RG400, RG443.
        """
        return self._rows(calls.EVAL_ASSERT_RESULTS, rows.EvalAssertResults, locals())

    def eval_candidates(
        self, rag: str, eval: str | None = None, tags: Sequence[str] | None = None
    ) -> Rows[rows.EvalCandidatesRow]:
        """Returns what a reranker has to score for a run: its name, and each query with the
        chunks that the retriever finds (four times topK, at most 1000) and the passages to
        give it; nothing when the retriever declares none. Raises RG404, RG417, RG441.
        """
        return self._rows(calls.EVAL_CANDIDATES, rows.EvalCandidatesRow, locals())

    def eval_case_results(
        self, run_id: UUID | str, after: int = 0, count: int | None = None
    ) -> Rows[rows.EvalCaseResults]:
        """Returns the cases of a run in their order whose number is greater than after: all, or
        count (1 to 10000) of them. Raises RG400, RG443.
        """
        return self._rows(calls.EVAL_CASE_RESULTS, rows.EvalCaseResults, locals())

    def eval_metrics(
        self, run_id: UUID | str, after: int = 0, last: int | None = None
    ) -> Rows[rows.EvalMetrics]:
        """Returns the metrics of the cases of a run whose number is greater than after, up to
        last (null: all), and those of the run (case 0) where after is 0. Raises RG400, RG443.
        """
        return self._rows(calls.EVAL_METRICS, rows.EvalMetrics, locals())

    def eval_queries(
        self, rag: str, eval: str | None = None, tags: Sequence[str] | None = None
    ) -> Rows[rows.EvalQueriesRow]:
        """Returns the queries that a run needs the embeddings of; none when its retriever ranks
        by words or a static embedder makes them. Raises RG404, RG417, RG441.
        """
        return self._rows(calls.EVAL_QUERIES, rows.EvalQueriesRow, locals())

    def eval_report(self, run_id: UUID | str, format: str = "table") -> str:
        """Returns the report of a run as table, tap (version 14), junit, md, csv or json. Raises
        RG400, RG443.
        """
        return self._value(calls.EVAL_REPORT, locals())

    def evaluate_answer(self, contract: Any, retrieval: Any) -> Any:
        """Evaluates an answer, {"query", "answer", "groundingSpans": [{"start", "end",
        "chunkIds", "required"}], "requireCitations", "minGroundingCoverage" (0 to 1, default
        1), "minCitedChunks", "evidencePolicy", "abstained", "allowAbstain", "abstainAnswer",
        "lexicalSupport", "unit", "provenance"}, against a retrieval, {"query", "chunks"}:
        passed, status (grounded, abstained, partially_grounded, ungrounded, invalid),
        coverage and diagnostics. It proves reference, location and lexical support, not
        entailment. Raises RG442.
        """
        return self._value(calls.EVALUATE_ANSWER, locals())

    def evaluate_case(self, case: Any, retrieval: Any) -> Rows[rows.EvaluateCaseRow]:
        """Evaluates the assertions of a case, {"name", "query", "rag", "eval", "expected",
        "asserts"}, on a retrieval given as {"query", "chunks": [{"id", "text", "source",
        "citation", "score"}], "durationMs"} or {"error"}, and returns each outcome and
        whether it fails the case. Raises RG442.
        """
        return self._rows(calls.EVALUATE_CASE, rows.EvaluateCaseRow, locals())

    def event_envelopes(self, after: Any = None, count: int = 100) -> Any:
        """Returns the next events of all corpora that the caller may read, at most count (1 to
        10000), each as the envelope of the wire: {"events": [{"schema_version", "event_id",
        "lamport", "wall_clock", "community_id" (the database), "author" (the role),
        "event_type", "data": {"corpus", "doc_cid", "title", "language", "chunks"}}], "next"}.
        To go on, pass next as after (null: from the beginning). Personal corpora are left
        out. Raises RG400.
        """
        return self._value(calls.EVENT_ENVELOPES, locals())

    def events_after(self, after: Any = None, count: int = 100) -> Rows[rows.EventsAfterRow]:
        """Returns the next events of all corpora that the caller may read, at most count (1 to
        10000): of each corpus in their order. To go on, pass next of the last row as after
        (null: from the beginning); it is null in the other rows. Raises RG400.
        """
        return self._rows(calls.EVENTS_AFTER, rows.EventsAfterRow, locals())

    def evidence_pack_to_input(self, pack: Any) -> Any:
        """Returns a pack as the input of a task that answers from evidence: question, and
        evidence with corpus_id, hash, chunks (source_id, chunk_id, text) and the number
        omitted. Raises RG460.
        """
        return self._value(calls.EVIDENCE_PACK_TO_INPUT, locals())

    def evidence_provenance(self, evidence: Any) -> rows.EvidenceProvenanceRow:
        """Returns the corpus (null: none) and the traces that a pack, or the input of a task,
        says it is of, which its citations are checked by. Whether they are there is not
        looked at. Raises RG460.
        """
        return self._row(calls.EVIDENCE_PROVENANCE, rows.EvidenceProvenanceRow, locals())

    def explain_missing(
        self,
        corpus: str,
        query: str,
        chunk_id: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        typos: bool = True,
    ) -> rows.ExplainMissingRow:
        """Says at which step a search with these arguments leaves a chunk out: ranking, filter,
        min_score, per_document, collapse, diversity, depth or limit; or that it is a hit.
        rank is its place before any picking (null past the first 1000), score its score (0 to
        1), last_score the least score of a hit. Raises RG400, RG401, RG404, RG406, RG410,
        RG415, RG418.
        """
        return self._row(calls.EXPLAIN_MISSING, rows.ExplainMissingRow, locals())

    def explain_score(
        self,
        corpus: str,
        query: str,
        chunk_id: str,
        mode: str | None = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        syntax: str = "plain",
        typos: bool = True,
    ) -> Rows[rows.ExplainScoreRow]:
        """Takes the score of a chunk in a search with these arguments apart: a row for each term
        of the query (part word, with the chunks that have it, its frequency in this one and
        its impact as value), one for the meaning (its similarity as value), or one for the
        overlap of mode reference. points are what a part gives to the score and add up to it
        (0 to 1, to its rounding of 1e-6); most is what it could have given: that of the words
        of the query and of the meaning adds up to 1, and of a word and all that stands for it
        only the best has points. By rrf the words share what their rank gives as they share
        the BM25, and a chunk past the first 1000 has no points. Raises RG400, RG401, RG404,
        RG406, RG415, RG418.
        """
        return self._rows(calls.EXPLAIN_SCORE, rows.ExplainScoreRow, locals())

    def explain_scores(
        self,
        corpus: str,
        query: str,
        chunk_ids: Sequence[str],
        mode: str | None = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        syntax: str = "plain",
        typos: bool = True,
    ) -> Rows[rows.ExplainScoresRow]:
        """Does for 1 to 100 different chunks what ragdb.explain_score does for one, in the order
        of the ids. Raises RG400, RG401, RG404, RG406, RG415, RG418.
        """
        return self._rows(calls.EXPLAIN_SCORES, rows.ExplainScoresRow, locals())

    def explain_search(
        self,
        corpus: str,
        query: str,
        chunk_id: str,
        statistics: str | None = None,
        syntax: str = "plain",
        typos: bool = True,
    ) -> Rows[rows.ExplainSearchRow]:
        """Returns a row for each term of a query: chunks that have it, idf, its frequency in a
        chunk, its impact (0 to k1 + 1), contribution to the BM25 and share of it (0 to 1).
        stands_for is the lexeme of the query that it stands for, as a synonym, as a number
        with its unit or as what was probably meant, at a discount; of a word and all that
        stands for it only the best contributes. Raises RG400, RG401, RG404, RG406.
        """
        return self._rows(calls.EXPLAIN_SEARCH, rows.ExplainSearchRow, locals())

    def export_contract(self, contract: str, version: int | None = None) -> Any:
        """Returns an applied contract (the version in force unless another is named) in the form
        that ragdb.apply_contract takes. Raises RG441.
        """
        return self._value(calls.EXPORT_CONTRACT, locals())

    def export_corpus(self, corpus: str) -> Any:
        """Returns what an export of a corpus begins with: its settings, its embedder, counts,
        and a digest (64 hex digits of SHA-256) over settings, documents, embeddings and
        synonyms that is equal wherever these are equal, under whatever name. Raises RG400,
        RG404, RG415.
        """
        return self._value(calls.EXPORT_CORPUS, locals())

    def export_documents(
        self, corpus: str, after: int = 0, count: int = 1000
    ) -> Rows[rows.ExportDocumentsRow]:
        """Returns the documents of a corpus after a position, at least one and as many as have
        about count chunks (1 to 1000) and four million bytes: each as the JSON for
        ragdb.import_documents, and whether ragdb.get_blob has its original. Raises RG400,
        RG404.
        """
        return self._rows(calls.EXPORT_DOCUMENTS, rows.ExportDocumentsRow, locals())

    def export_embeddings(
        self, corpus: str, after: int = 0, count: int = 1000
    ) -> Rows[rows.ExportEmbeddingsRow]:
        """Returns the next 1 to 1000 embeddings of the current space of a corpus after a
        position: document (its first source) and ordinal of each chunk, and their numbers one
        behind the other as big-endian float4; no row when there are no more. Raises RG400,
        RG404, RG415.
        """
        return self._rows(calls.EXPORT_EMBEDDINGS, rows.ExportEmbeddingsRow, locals())

    def export_signing_keys(self) -> Rows[rows.ExportSigningKeysRow]:
        """Returns the signing keys that are kept in this database with their secrets in hex, to
        be kept apart from the dump and imported into a restored copy.
        """
        return self._rows(calls.EXPORT_SIGNING_KEYS, rows.ExportSigningKeysRow, locals())

    def export_slice(self, corpus: str, anchor: str, policy: Any = None) -> rows.BuiltSlice:
        """Builds, signs and stores a slice, so that it can be searched by its id. Raises RG400,
        RG404, RG430, RG431, RG433, RG434.
        """
        return self._row(calls.EXPORT_SLICE, rows.BuiltSlice, locals())

    def export_trec(self, run_id: UUID | str, what: str = "run") -> list[str]:
        """Returns the lines of a TREC run file, or of the qrels of the labels of its cases,
        among them the sources that a contract gives a case; of the labels of one document or
        span the one that measures. In a name white space is _, and ~ and digits of its hash
        end it. Raises RG400, RG443.
        """
        return self._values(calls.EXPORT_TREC, locals())

    @overload
    def facets(
        self,
        corpora: Sequence[str] | None = None,
        query: str | None = None,
        fields: Sequence[str] | None = None,
        filter: Any = None,
        most_values: int = 100,
        syntax: str = "plain",
    ) -> Rows[rows.FacetsRow]:
        """Counts the documents and chunks of several corpora (null: all that the caller may
        read) together, with the arguments of the facets of one. Raises RG400, RG401, RG404,
        RG410.
        """

    @overload
    def facets(
        self,
        corpus: str,
        query: str,
        fields: Sequence[str],
        filter: Any = None,
        most_values: int = 100,
        syntax: str = "plain",
    ) -> Rows[rows.FacetsRow]:
        """Counts the documents and chunks of a corpus (null: all that the caller may read) that
        match a query (null: everything), exactly and by the values of 1 to 20 fields, those
        of a filter, each item of an array by itself; of each field the most_values (1 to
        10000) that most documents have. What matches has a word of the query, and in syntax
        web what it demands. A notice says which fields no document has. Raises RG400, RG401,
        RG404, RG410.
        """

    def facets(self, *args: Any, **kwargs: Any) -> Rows[rows.FacetsRow]:
        """facets(corpus, query, fields, filter=None, most_values=100, syntax='plain')

        Counts the documents and chunks of a corpus (null: all that the caller may read) that
        match a query (null: everything), exactly and by the values of 1 to 20 fields, those
        of a filter, each item of an array by itself; of each field the most_values (1 to
        10000) that most documents have. What matches has a word of the query, and in syntax
        web what it demands. A notice says which fields no document has. Raises RG400, RG401,
        RG404, RG410.

        facets(corpora=None, query=None, fields=None, filter=None, most_values=100,
        syntax='plain')

        Counts the documents and chunks of several corpora (null: all that the caller may
        read) together, with the arguments of the facets of one. Raises RG400, RG401, RG404,
        RG410.
        """
        call, given = choose((calls.FACETS_1, calls.FACETS_2), args, kwargs)
        return self._rows(call, rows.FacetsRow, given)

    def fail_embed_job(
        self, job_id: UUID | str, attempt: int, message: str, is_final: bool = False
    ) -> None:
        """Gives a claimed request back after a failure, to be tried again after a back-off, five
        times in all, or ends it. Raises RG400, RG453.
        """
        self._run(calls.FAIL_EMBED_JOB, locals())

    def fail_embeddings(
        self,
        space_id: int,
        input_hashes: Sequence[bytes],
        attempts: Sequence[int],
        error: str,
        retry_after: timedelta | str | None = None,
    ) -> int:
        """Gives claimed inputs back after a failure, to be tried again after a back-off, or
        after about retry_after (at most a day) when the provider and not the input failed;
        the fifth failure kills a job. Returns how many died. Raises RG400, RG404.
        """
        return self._value(calls.FAIL_EMBEDDINGS, locals())

    def fail_ingest_job(
        self,
        job_id: UUID | str,
        attempt: int,
        message: str,
        hint: str | None = None,
        error: str | None = None,
        retry_after: timedelta | str | None = None,
    ) -> None:
        """Ends a claimed ingest job with the wire word, message and hint that its caller gets;
        without a word it is tried again after a back-off, five times in all, or after about
        retry_after (at most a day), as often as that is given, when not the blob is at fault.
        Raises RG400, RG453.
        """
        self._run(calls.FAIL_INGEST_JOB, locals())

    def fail_query(
        self, corpus: str, embedder: str, query_hash: bytes, attempt: int, error: str
    ) -> None:
        """Gives a claimed query back after a failure, to be tried again after a back-off, five
        times in all. Raises RG400, RG401, RG404, RG416.
        """
        self._run(calls.FAIL_QUERY, locals())

    def feedback_cases(
        self, corpus: str, since: datetime | None = None, after: str = "", count: int | None = None
    ) -> Any:
        """Returns the cases that feedback makes for ragdb.import_eval, from the retrievals that
        the caller may read: a question with what people called good (grade 1) and bad (grade
        0), as spans of documents. A question has to have something good, the corpus to keep
        its text, and the chunk to be as it was; verdicts that cancel each other say nothing.
        They come in the order of their questions; a page begins after one, and has at most
        count (1 to 10000; null: all). Raises RG400, RG401, RG404.
        """
        return self._value(calls.FEEDBACK_CASES, locals())

    def filter_admissible(self, corpus: str, slice_id: str, chunk_ids: Sequence[str]) -> list[str]:
        """Returns those of the chunk ids that are members of a stored slice, in the order given.
        Raises RG400, RG404, RG435.
        """
        return self._value(calls.FILTER_ADMISSIBLE, locals())

    def find_chunk(self, corpus: str, prefix: str) -> str:
        """Returns the id of the one chunk of a corpus that is named so, or whose id alone begins
        so. Raises RG400, also where two do, RG404, RG406.
        """
        return self._value(calls.FIND_CHUNK, locals())

    def find_run(self, prefix: str) -> UUID:
        """Returns the id of the one run that the caller may see and whose id begins so: 8 to 32
        hexadecimal digits, with or without hyphens. Raises RG400, also where two do, and
        RG443.
        """
        return self._value(calls.FIND_RUN, locals())

    def find_slice(self, corpus: str, prefix: str) -> str:
        """Returns the id of the one stored slice of a corpus whose id begins so. Raises RG400,
        also where two do, RG404, RG435.
        """
        return self._value(calls.FIND_SLICE, locals())

    def find_trace(self, prefix: str) -> UUID:
        """Returns the id of the one trace that the caller may read and whose id begins so: 8 to
        32 hexadecimal digits, with or without hyphens. Raises RG400, also where two do, and
        RG407.
        """
        return self._value(calls.FIND_TRACE, locals())

    def finish_import(self, corpus: str, header: Any) -> None:
        """Ends an import: compares what came with the counts and the digest of the header,
        completes the blocks of the lexical index and writes the events. Raises RG400, RG401,
        RG404, RG455.
        """
        self._run(calls.FINISH_IMPORT, locals())

    def finish_move(self, move_id: UUID | str) -> None:
        """Closes a corpus whose writers this transaction holds and that has arrived in all: who
        asks for it is told where it went. What was recorded of it can be read here until
        ragdb.drop_corpus. Raises RG401, RG404, RG457, RG458.
        """
        self._run(calls.FINISH_MOVE, locals())

    def follow_peer(self, corpus: str, peer: str, remote: str | None = None) -> None:
        """Notes that a peer has a shared corpus too, and under which name (null: the same).
        Raises RG400, RG401, RG404, RG490, RG491.
        """
        self._run(calls.FOLLOW_PEER, locals())

    def gate_questions(self, corpus: str) -> Rows[rows.GateQuestionsRow]:
        """Returns what the gate of a corpus is calibrated by: pieces of its own texts, and
        questions about something else. Where a model outside embeds the corpus,
        put_query_embedding of each comes before calibrate_gate. Raises RG400, RG401, RG404.
        """
        return self._rows(calls.GATE_QUESTIONS, rows.GateQuestionsRow, locals())

    def get_answer(self, answer_id: UUID | str) -> rows.RecordedAnswer:
        """Returns one recorded answer, without its text, which is not kept. Raises RG407."""
        return self._row(calls.GET_ANSWER, rows.RecordedAnswer, locals())

    def get_blob(self, cid: str) -> rows.Blob:
        """Returns original bytes that the caller brought, or that somebody brought to a corpus
        that the caller may read. Raises RG408, RG471.
        """
        return self._row(calls.GET_BLOB, rows.Blob, locals())

    def get_children(
        self, corpus: str, chunk_id: str, after: str = "", count: int = 1000
    ) -> Rows[rows.Edge]:
        """Returns the edges that lead from a chunk to children whose id is greater than after,
        in the order of the children, count (1 to 10000) of them and the others of the last
        child. Raises RG400, RG404, RG406.
        """
        return self._rows(calls.GET_CHILDREN, rows.Edge, locals())

    def get_chunk(self, corpus: str, chunk_id: str) -> rows.Chunk:
        """Returns one chunk by its id. Raises RG400, RG404, RG406."""
        return self._row(calls.GET_CHUNK, rows.Chunk, locals())

    def get_document(self, corpus: str, document: str) -> rows.Document:
        """Returns one document, as ragdb.list_documents does, by one of its sources, by its
        external id, or by the identity of its bytes (sha256: and 64 hex digits): the first of
        these three that the corpus has. The same bytes may be several documents, which are
        told apart by their sources. Raises RG400, RG404, RG405, RG425.
        """
        return self._row(calls.GET_DOCUMENT, rows.Document, locals())

    def get_edges(self, corpus: str, chunk_ids: Sequence[str]) -> Rows[rows.Edge]:
        """Returns the edges both of whose ends are among some chunks, at most 10000, as a slice
        has them: in the order of parent, child and then reply, branch, reference, default.
        Raises RG400, RG404.
        """
        return self._rows(calls.GET_EDGES, rows.Edge, locals())

    def get_eval_run(self, run_id: UUID | str) -> rows.EvalRuns:
        """Returns a run of an eval whose corpus the caller may read. Raises RG443."""
        return self._row(calls.GET_EVAL_RUN, rows.EvalRuns, locals())

    def get_parents(
        self, corpus: str, chunk_id: str, after: str = "", count: int = 1000
    ) -> Rows[rows.Edge]:
        """Returns the edges that lead to a chunk from parents whose id is greater than after, in
        the order of the parents and then reply, branch, reference, default, count (1 to
        10000) of them and the others of the last parent. Raises RG400, RG404, RG406.
        """
        return self._rows(calls.GET_PARENTS, rows.Edge, locals())

    def get_retriever(self, retriever: str) -> rows.RetrieverSettings:
        """Returns how a retriever of a contract in force searches when nothing else is asked:
        corpus, mode, k, min_score, the model that it is declared for and the reranker (null
        for none). Raises RG400, RG404, RG417, RG441.
        """
        return self._row(calls.GET_RETRIEVER, rows.RetrieverSettings, locals())

    def get_slice(self, corpus: str, slice_id: str) -> rows.GetSliceRow:
        """Returns a stored slice with its members in the order in which they were chosen, and
        its policy in full, null where that is not registered as it was; is_unchanged is
        whether its members and the edges between them are what they were. The source is null
        where the anchor is gone. Raises RG400, RG404, RG435.
        """
        return self._row(calls.GET_SLICE, rows.GetSliceRow, locals())

    def get_source(self, corpus: str, uri: str) -> Rows[rows.GetSourceRow]:
        """Returns what document a source gave last, with the version that its store named
        (etag), its chunking and when that was; no row for a source that is not there. Raises
        RG400, RG404.
        """
        return self._rows(calls.GET_SOURCE, rows.GetSourceRow, locals())

    def get_trace(self, trace_id: UUID | str) -> rows.RetrievalTraces:
        """Returns one trace: the caller's own of a corpus that they may read, or for an auditor
        any. Raises RG400, RG407.
        """
        return self._row(calls.GET_TRACE, rows.RetrievalTraces, locals())

    def get_turn(self, corpus: str, chunk_id: str) -> rows.GetTurnRow:
        """Returns a turn with its text and derived fields. Raises RG400, RG404, RG406."""
        return self._row(calls.GET_TURN, rows.GetTurnRow, locals())

    def grant_corpus(self, corpus: str, role: str, privilege: str) -> None:
        """Gives a role the right read, write or admin to a corpus, in place of the right it had;
        the corpus is restricted from then on: closed to all other readers and writers. Where
        it was open it waits for who writes to it. A notice says so where the role is not in
        ragdb_reader. Raises RG400, RG401, RG404.
        """
        self._run(calls.GRANT_CORPUS, locals())

    def guess_languages(self, texts: Sequence[str]) -> Rows[rows.GuessLanguagesRow]:
        """Tells which language each of some texts is in, by the first 1000 characters: by the
        position of the text, from 0, the code of its language, null for one that shares its
        letters, and the text configuration for it (english for a language that has none). A
        text whose language cannot be told has no row. Raises RG400.
        """
        return self._rows(calls.GUESS_LANGUAGES, rows.GuessLanguagesRow, locals())

    def has_reached(self, log_position: str) -> bool:
        """Tells whether this server has all that was committed before a position of
        ragdb.log_position() was asked for; false for a position of another system or
        timeline. Raises RG400.
        """
        return self._value(calls.HAS_REACHED, locals())

    def has_worker(self) -> bool:
        """Tells whether a worker is connected, which may embed a query on request
        (ragdb.embed_query).
        """
        return self._value(calls.HAS_WORKER, locals())

    def highlight(
        self,
        corpus: str,
        chunk_id: str,
        query: str,
        start_mark: str = "**",
        end_mark: str = "**",
        syntax: str = "plain",
    ) -> str:
        """Returns the text of a chunk with the words that a query matches between two marks.
        Raises RG400, RG401, RG404, RG406.
        """
        return self._value(calls.HIGHLIGHT, locals())

    def highlight_chunks(
        self,
        corpus: str,
        chunk_ids: Sequence[str],
        query: str,
        start_mark: str = "**",
        end_mark: str = "**",
        syntax: str = "plain",
    ) -> Rows[rows.HighlightChunksRow]:
        """Returns the texts of at most 1,000 chunks, in any order, with the words that a query
        matches between two marks. Raises RG400, RG401, RG404, RG406.
        """
        return self._rows(calls.HIGHLIGHT_CHUNKS, rows.HighlightChunksRow, locals())

    def hold_move(self, move_id: UUID | str, longest: timedelta | str = "00:00:10") -> datetime:
        """Holds the writers of a corpus that leaves until this transaction ends, for at most
        longest (10 ms to 1 hour), and returns until when; a courier that is silent for that
        long loses its session. Searches go on. Raises RG400, RG401, RG404, RG457, RG458.
        """
        return self._value(calls.HOLD_MOVE, locals())

    def http_session_role(self, session_hash: bytes) -> str | None:
        """Returns the role of a browser's session, by the SHA-256 of its secret; null when it is
        unknown or has ended.
        """
        return self._value(calls.HTTP_SESSION_ROLE, locals())

    def http_token_role(self, token_hash: bytes) -> str | None:
        """Returns the role that a bearer token stands for, by the SHA-256 of the token; null
        when it is unknown, has expired, or stands for a role that is gone, a superuser or the
        owner of the database.
        """
        return self._value(calls.HTTP_TOKEN_ROLE, locals())

    def import_corpus(self, header: Any, corpus: str | None = None) -> str:
        """Begins the import of a corpus, in one transaction that ragdb.finish_import ends and
        that cannot be committed without it: makes it, under the name of its header or
        another, with its settings and its embedder. Where it was restricted only the caller
        and admins may read it; rights are not part of an export. Raises RG400, RG401, RG409,
        RG411, RG417, RG455.
        """
        return self._value(calls.IMPORT_CORPUS, locals())

    def import_documents(self, corpus: str, documents: Any) -> int:
        """Puts documents of an export, an array of what ragdb.export_documents returns, into the
        corpus that this transaction imports, and returns the number of their chunks; ids,
        links, edges and the index are made anew. Raises RG400, RG401, RG404, RG409, RG412,
        RG413, RG455.
        """
        return self._value(calls.IMPORT_DOCUMENTS, locals())

    def import_embeddings(
        self,
        corpus: str,
        sources: Sequence[str],
        ordinals: Sequence[int],
        embeddings: Reals | Sequence[float],
    ) -> int:
        """Stores embeddings, one behind the other, of chunks (first source of the document, and
        ordinal) of the corpus that this transaction imports, and returns their number. Raises
        RG400, RG401, RG404, RG418, RG455.
        """
        return self._value(calls.IMPORT_EMBEDDINGS, locals())

    def import_eval(self, rag: str, eval: str, cases: Any) -> rows.ImportEvalRow:
        """Gives an eval of a contract cases with labels, [{"name", "query", "tags", "asserts",
        "labels": [{"source", "start", "end", "grade"}]}], in place of those imported before,
        while the cases of the contract, whose names are taken, and of ragdb.add_eval_case
        stay; asserts are what a ragAssert of a contract has, a label is of a document (uri or
        external id) or of a span of its characters, and survives another chunking. A span
        that has a sha256, as ragdb.list_eval_cases lists it, is stale unless its text has
        that. Raises RG400, RG401, RG404, RG441, RG442.
        """
        return self._row(calls.IMPORT_EVAL, rows.ImportEvalRow, locals())

    def import_signing_key(
        self,
        key_id: str,
        secret: str,
        state: str = "verify_only",
        created_at: datetime | None = None,
        active_until: datetime | None = None,
        not_after: datetime | None = None,
    ) -> None:
        """Puts an exported key back, so that a restored copy verifies the tokens and traces of
        the original; an active one signs from now on, a revoked one stays revoked. Raises
        RG400, RG409.
        """
        self._run(calls.IMPORT_SIGNING_KEY, locals())

    def import_synonyms(self, corpus: str, synonyms: Any) -> int:
        """Stores synonyms, an array of {"word", "synonyms": […]} as ragdb.list_synonyms returns
        them, in the corpus that this transaction imports, and returns the number of pairs.
        Raises RG400, RG401, RG404, RG413, RG455.
        """
        return self._value(calls.IMPORT_SYNONYMS, locals())

    def index_space(self, corpus: str, embedder: str | None = None) -> bool:
        """Builds the HNSW index of a space of a corpus (the current one unless an embedder is
        named) when it has 10,000 chunks and none yet, and says whether it did; warns where
        there is no room for it. Raises RG400, RG401, RG404.
        """
        return self._value(calls.INDEX_SPACE, locals())

    def inline_spans(self, answer: str, chunk_ids: Sequence[str]) -> Any:
        """Returns the grounding spans (code points) that markers [1] or [1, 2] in an answer
        mean, given the ids of the chunks in the order of their numbers. Raises RG400, RG442.
        """
        return self._value(calls.INLINE_SPANS, locals())

    def is_admissible(self, corpus: str, slice_id: str, chunk_id: str) -> bool:
        """Tells whether a chunk is a member of a stored slice. Raises RG400, RG404, RG435."""
        return self._value(calls.IS_ADMISSIBLE, locals())

    def job_state(self, job_id: UUID | str) -> rows.JobStateRow:
        """Returns what has become of the job of a partition answer: waiting, in_work, failed
        (with the error), or done for texts; any other job that is done is gone. Raises RG453.
        """
        return self._row(calls.JOB_STATE, rows.JobStateRow, locals())

    def job_status(self) -> Rows[rows.JobStatusRow]:
        """Lists what workers have yet to do, by capability and corpus that the caller may read:
        jobs that wait, are in work and have failed (kept for a day), since when the oldest
        waits, and the last error. Chunks that wait for an embedding are in
        ragdb.embedding_status.
        """
        return self._rows(calls.JOB_STATUS, rows.JobStatusRow, locals())

    def keep_history(self, corpus: str, history: timedelta | str) -> rows.KeepHistoryRow:
        """Has a corpus keep its history from now on, so that it can be searched as it was for as
        long as the interval says. Returns how it is kept, from which version and since when.
        Raises RG400, RG401, RG404.
        """
        return self._row(calls.KEEP_HISTORY, rows.KeepHistoryRow, locals())

    def kern_chunk_hash(self, text: str) -> str:
        """Returns KERN's hash of a chunk's text: 32 hexadecimal digits, two FNV-1a lanes over
        its UTF-8 bytes. Raises RG400.
        """
        return self._value(calls.KERN_CHUNK_HASH, locals())

    def known_sources(self, corpus: str, uris: Sequence[str]) -> Rows[rows.KnownSourcesRow]:
        """Returns those of some sources that the corpus has: where each came from (root, null
        where nobody said) and the identity of its document. Raises RG400, RG404.
        """
        return self._rows(calls.KNOWN_SOURCES, rows.KnownSourcesRow, locals())

    def lacking_originals(self, move_id: UUID | str, cids: Sequence[str]) -> list[str]:
        """Returns those of some cids whose bytes have not come to a corpus that arrives. Raises
        RG457.
        """
        return self._values(calls.LACKING_ORIGINALS, locals())

    def last_trace_id(self) -> UUID:
        """Returns the id of the trace that this transaction recorded last, also when the
        retrieval had no hits. Raises RG407 where it recorded none, hence outside a
        transaction block: there each hit has its trace_id.
        """
        return self._value(calls.LAST_TRACE_ID, locals())

    def leave_move(self, move_id: UUID | str, reopen: bool = False) -> bool:
        """Gives a move up, on the side where it is called, and returns whether it was not yet:
        what had arrived is removed, and what was leaving stays as it is. First the side that
        arrives, then the other. A corpus that was closed opens again only with reopen, for
        when the other side is lost. Raises RG401, RG404, RG457.
        """
        return self._value(calls.LEAVE_MOVE, locals())

    def ledger_bundle(self, index: int, width: int = 256) -> bytes:
        """Returns the first entries, 1 to 256, of a bundle of 256, each behind its length in two
        bytes (C2SP tlog-tiles). Raises RG480.
        """
        return self._value(calls.LEDGER_BUNDLE, locals())

    def ledger_checkpoint(self, size: int | None = None) -> str:
        """Returns the text of a checkpoint of a size, by default of the whole ledger, to be
        signed outside the database (C2SP tlog-checkpoint). Raises RG400, RG481, RG482.
        """
        return self._value(calls.LEDGER_CHECKPOINT, locals())

    def ledger_consistency_proof(self, old_size: int, new_size: int | None = None) -> list[bytes]:
        """Returns the proof (RFC 6962) that the tree of the new size, by default the whole
        ledger, begins with all entries of the tree of the old size. Raises RG400, RG482.
        """
        return self._value(calls.LEDGER_CONSISTENCY_PROOF, locals())

    def ledger_entries(self, first: int = 0, count: int = 1000) -> Rows[rows.LedgerEntry]:
        """Lists entries of the ledger from a number on, 1 to 10000 of them. Raises RG400."""
        return self._rows(calls.LEDGER_ENTRIES, rows.LedgerEntry, locals())

    def ledger_entry(self, kind: str, id: str) -> rows.LedgerEntry:
        """Returns the entry of a row: its kind, such as trace, and its id, with or without the
        number of the corpus before it. Raises RG480.
        """
        return self._row(calls.LEDGER_ENTRY, rows.LedgerEntry, locals())

    def ledger_inclusion_proof(self, number: int, size: int | None = None) -> list[bytes]:
        """Returns the proof (RFC 6962, from the leaf up) that the tree of a size, by default the
        whole ledger, has the entry of a number, from 0. Raises RG400, RG480, RG482.
        """
        return self._value(calls.LEDGER_INCLUSION_PROOF, locals())

    def ledger_kinds(self) -> list[str]:
        """Lists the kinds of rows that the ledger enters."""
        return self._values(calls.LEDGER_KINDS, locals())

    def ledger_root(self, size: int | None = None) -> bytes:
        """Returns the root of the tree over the first entries of the ledger (32 bytes), by
        default over all. Raises RG400, RG482.
        """
        return self._value(calls.LEDGER_ROOT, locals())

    def ledger_status(self) -> rows.LedgerStatusRow:
        """Returns whether the ledger is on, its name in checkpoints (null before the first
        sealing), its size, the last sealing time, how many rows wait to be sealed and since
        when, and the size of the last stored checkpoint.
        """
        return self._row(calls.LEDGER_STATUS, rows.LedgerStatusRow, locals())

    def ledger_tile(self, level: int, index: int, width: int = 256) -> bytes:
        """Returns the first hashes, 1 to 256, of a tile of the tree (C2SP tlog-tiles). Raises
        RG480.
        """
        return self._value(calls.LEDGER_TILE, locals())

    def list_access_events(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 100
    ) -> Rows[rows.AccessEvents]:
        """Returns the latest events of access, newest first, of one corpus or of all, at or
        after since: read, refused, export, export_keys, grant, revoke, restrict, unrestrict,
        record_reads, bind_role, set_quota, create_token, revoke_token, drop_events. count is
        1 to 10000. Raises RG400.
        """
        return self._rows(calls.LIST_ACCESS_EVENTS, rows.AccessEvents, locals())

    def list_answers(
        self,
        corpus: str | None = None,
        since: datetime | None = None,
        count: int = 50,
        before: UUID | str | None = None,
    ) -> Rows[rows.RecordedAnswer]:
        """Returns the latest recorded answers, newest first, of one corpus or of all that the
        caller may read, recorded at or after since; count is 1 to 10000, before the last id
        of the page before. Raises RG400, RG404.
        """
        return self._rows(calls.LIST_ANSWERS, rows.RecordedAnswer, locals())

    def list_atoms(self, corpus: str, count: int = 100) -> Rows[rows.ListAtomsRow]:
        """Lists the latest 1 to 10000 atoms of a corpus with what supports each claim (checks)
        and the state of each now: current, stale (a chunk is gone or says something else),
        redacted or tampered. Raises RG400, RG401, RG404.
        """
        return self._rows(calls.LIST_ATOMS, rows.ListAtomsRow, locals())

    def list_blobs(self, after: str = "", count: int = 100) -> Rows[rows.ListBlobsRow]:
        """Lists the next count (1 to 10000) blobs after a cid that the caller has put, in the
        order of their cids: the media type that it gave, the bytes, which count in its quota,
        and whether a corpus has them because of the caller. One that no corpus has can be
        taken back: ragdb.drop_blob. Raises RG400.
        """
        return self._rows(calls.LIST_BLOBS, rows.ListBlobsRow, locals())

    def list_checkpoints(self, count: int = 100) -> Rows[rows.ListCheckpointsRow]:
        """Lists the last 1 to 10000 stored checkpoints, the largest first. Raises RG400."""
        return self._rows(calls.LIST_CHECKPOINTS, rows.ListCheckpointsRow, locals())

    def list_chunks(
        self,
        corpus: str,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        after: str = "",
        count: int = 100,
    ) -> Rows[rows.Chunk]:
        """Lists the chunks of a corpus by their ids: those that a filter leaves, among some ids
        or all (null), that come after a given one, at most count (1 to 10000; null: all), and
        what other parts have under the last id. Ids that no chunk has are passed over. Raises
        RG400, RG404, RG410.
        """
        return self._rows(calls.LIST_CHUNKS, rows.Chunk, locals())

    def list_citations(self, answer_id: UUID | str) -> Rows[rows.ListCitationsRow]:
        """Returns what ragdb.check_citations found in a recorded answer: a row for each citation
        that holds (code null) and for each problem, with the text of the chunk, in which the
        quote stands from start_offset to end_offset counted in unit; the text is null where
        the chunk is gone or the caller may not read the corpus, and so are the offsets where
        the caller may not read the trace. Raises RG407.
        """
        return self._rows(calls.LIST_CITATIONS, rows.ListCitationsRow, locals())

    def list_conflicts(self, corpus: str, only_open: bool = True) -> Rows[rows.ListConflictsRow]:
        """Lists the changes of a shared corpus that were not taken, because somebody else
        changed the same source without knowing of them: both events and authors, whether it
        is open (no later change knew of it), and the document that was not taken; was_erased
        says that its text is not kept, because it was erased or never came. Only the open
        ones, or all. Raises RG400, RG404.
        """
        return self._rows(calls.LIST_CONFLICTS, rows.ListConflictsRow, locals())

    def list_contracts(
        self,
        only_current: bool = False,
        prefix: str = "",
        after: str = "",
        count: int | None = None,
    ) -> Rows[rows.ListContractsRow]:
        """Lists the contracts that the caller may read, every version or those in force, the
        newest of each first: those whose name begins with a prefix and comes after a given
        one, at most count (1 to 10000; null: all) and what other versions the last contract
        has. Raises RG400.
        """
        return self._rows(calls.LIST_CONTRACTS, rows.ListContractsRow, locals())

    def list_corpora(
        self, prefix: str = "", after: str = "", count: int | None = None, by_change: bool = False
    ) -> Rows[rows.ListCorporaRow]:
        """Lists the corpora that the caller may read, by name, or those that changed last first:
        those whose name begins with a prefix and comes after a given one, at most count (1 to
        10000; null: all). Each has counts (of one that has parts, of those that the caller
        may read), the language of most documents, the drift of the mean length from the pivot
        (0.1 is 10 % longer; null without chunks, of a part and of one that has moved),
        whether ragdb.optimize_corpus is due for it (over 10 %, or 25 % from 10,000 chunks
        on), the corpus that it is a part of, how many parts it has, how many of these were
        written to since ragdb.sync_statistics, and the database to which it has moved. Raises
        RG400.
        """
        return self._rows(calls.LIST_CORPORA, rows.ListCorporaRow, locals())

    def list_documents(
        self, corpus: str, prefix: str = "", after: str = "", count: int = 100
    ) -> Rows[rows.Document]:
        """Lists the documents of a corpus by their first source: those whose source begins with
        a prefix and comes after a given one, at most count (1 to 10000; null: all), and what
        other parts have under the last one's source. Raises RG400, RG404.
        """
        return self._rows(calls.LIST_DOCUMENTS, rows.Document, locals())

    def list_embedders(self) -> Rows[rows.Embedders]:
        """Lists the embedders by name."""
        return self._rows(calls.LIST_EMBEDDERS, rows.Embedders, locals())

    def list_erasures(self, corpus: str, count: int = 100) -> Rows[rows.ListErasuresRow]:
        """Lists the latest 1 to 10000 atoms, proposals and decisions of a corpus that were
        redacted or erased with what they were derived from: who did it, when, because of what
        and why; is_intact tells whether the record is as it was written. Raises RG400, RG401,
        RG404.
        """
        return self._rows(calls.LIST_ERASURES, rows.ListErasuresRow, locals())

    def list_eval_cases(
        self, rag: str, eval: str | None = None, after: int = 0, count: int | None = None
    ) -> Rows[rows.ListEvalCasesRow]:
        """Lists the cases of an eval (the only one of the rag unless named) in the order in
        which a run takes them: origin is contract, imported or asked; expected is what a
        contract holds the case to (topK, minScore, chunkCount, sources), asserts what is
        tested beside it, labels what should be found (sha256: that of the characters of a
        span as it was labelled, without white space). A page begins after a case_no, and has
        at most count (1 to 10000; null: all). Raises RG400, RG404, RG417, RG441.
        """
        return self._rows(calls.LIST_EVAL_CASES, rows.ListEvalCasesRow, locals())

    def list_eval_runs(
        self,
        rag: str | None = None,
        eval: str | None = None,
        count: int = 50,
        since: datetime | None = None,
    ) -> Rows[rows.EvalRuns]:
        """Returns the latest runs, newest first, of one rag and eval or of all that the caller
        may see, begun at or after since; count is 1 to 10000. Raises RG400.
        """
        return self._rows(calls.LIST_EVAL_RUNS, rows.EvalRuns, locals())

    def list_evals(
        self,
        only_corpus: str | None = None,
        prefix: str = "",
        after: str = "",
        count: int | None = None,
    ) -> Rows[rows.ListEvalsRow]:
        """Lists the evals of the contracts in force whose corpus the caller may read, of one
        corpus or of all: how many cases the contract declares and how many were imported or
        asked, the number of runs, the latest run, and the baseline main; by their rags, those
        whose name begins with a prefix and comes after a given one, at most count (1 to
        10000; null: all) and what else the last rag has. Raises RG400, RG404.
        """
        return self._rows(calls.LIST_EVALS, rows.ListEvalsRow, locals())

    def list_failed_embeddings(
        self, corpus: str, after: str = "", count: int = 100
    ) -> Rows[rows.ListFailedEmbeddingsRow]:
        """Lists chunks of a corpus whose embedding failed, with the error, dead ones and those
        to be tried again: those whose id is greater than after, in its order, count (1 to
        10000) of them and the others of the last chunk. Raises RG400, RG401, RG404.
        """
        return self._rows(calls.LIST_FAILED_EMBEDDINGS, rows.ListFailedEmbeddingsRow, locals())

    def list_feedback(
        self,
        corpus: str | None = None,
        since: datetime | None = None,
        count: int = 50,
        before: UUID | str | None = None,
    ) -> Rows[rows.ListFeedbackRow]:
        """Returns the latest feedback of the caller and on the caller's retrievals, newest
        first, of one corpus or of all, given at or after since; for an auditor that of every
        role. count is 1 to 10000, before the last id of the page before. Raises RG400, RG404.
        """
        return self._rows(calls.LIST_FEEDBACK, rows.ListFeedbackRow, locals())

    def list_gates(
        self,
        corpus: str | None = None,
        since: datetime | None = None,
        count: int = 50,
        before: UUID | str | None = None,
    ) -> Rows[rows.RecordedGate]:
        """Returns the latest recorded decisions whether evidence was enough, newest first, of
        one corpus or of all that the caller may read, recorded at or after since; count is 1
        to 10000, before the last id of the page before. Raises RG400, RG404.
        """
        return self._rows(calls.LIST_GATES, rows.RecordedGate, locals())

    def list_grants(self, corpus: str) -> Rows[rows.ListGrantsRow]:
        """Lists the roles that have a right to a restricted corpus; is_dead where the role is
        gone, so that nobody has the right. Raises RG400, RG401, RG404.
        """
        return self._rows(calls.LIST_GRANTS, rows.ListGrantsRow, locals())

    def list_http_tokens(self) -> Rows[rows.ListHttpTokensRow]:
        """Lists the bearer tokens of the HTTP server by name, without anything of the tokens."""
        return self._rows(calls.LIST_HTTP_TOKENS, rows.ListHttpTokensRow, locals())

    def list_incidents(self, corpus: str, count: int = 100) -> Rows[rows.ListIncidentsRow]:
        """Lists the latest 1 to 10000 refused promotions of a corpus; is_intact tells whether
        the record is as it was written. Raises RG400, RG401, RG404.
        """
        return self._rows(calls.LIST_INCIDENTS, rows.ListIncidentsRow, locals())

    def list_key_events(self) -> Rows[rows.KeyEvents]:
        """Lists what was done with signing keys, by whom and when, the first event first."""
        return self._rows(calls.LIST_KEY_EVENTS, rows.KeyEvents, locals())

    def list_ledger_acts(self, count: int = 100) -> Rows[rows.LedgerActs]:
        """Lists the latest 1 to 10000 acts: rows dropped by age, erased or dropped with a
        corpus, documents deleted, history erased or dropped, and the ledger switched on or
        off. Raises RG400.
        """
        return self._rows(calls.LIST_LEDGER_ACTS, rows.LedgerActs, locals())

    def list_moves(self, corpus: str | None = None) -> Rows[rows.ListMovesRow]:
        """Lists the moves of corpora, or of one, that the caller began, or all for admins and
        auditors: out of this database and into it, their states (copying, ready, done, left),
        since when the writers were held at the end, and how many documents and sources are
        left to send.
        """
        return self._rows(calls.LIST_MOVES, rows.ListMovesRow, locals())

    def list_parts(self, corpus: str) -> Rows[rows.ListPartsRow]:
        """Lists the parts of a corpus that the caller may read: counts, and whether one was
        written to since ragdb.sync_statistics counted it (is_stale), with how many chunks
        that counted and when. Of a part on another server (is_elsewhere) it says what that
        server counted and gave; what has become of it since is known there. Raises RG400,
        RG404.
        """
        return self._rows(calls.LIST_PARTS, rows.ListPartsRow, locals())

    def list_peer_corpora(self, corpus: str | None = None) -> Rows[rows.ListPeerCorporaRow]:
        """Lists the shared corpora that the caller may read (null: all), each with the peers
        that have it: its name there, the trust and URL of the peer, how far it was read, and
        who shared the corpus here and when.
        """
        return self._rows(calls.LIST_PEER_CORPORA, rows.ListPeerCorporaRow, locals())

    def list_peers(self) -> Rows[rows.ListPeersRow]:
        """Lists the peers by name, each with its public key in hex, its trust, and since when
        and why its key is revoked.
        """
        return self._rows(calls.LIST_PEERS, rows.ListPeersRow, locals())

    def list_policies(self) -> Rows[rows.ListPoliciesRow]:
        """Lists the slice policies that may be named, by reference: the registered ones, and the
        default, which has no created_at and no created_by until a slice is stored under it.
        """
        return self._rows(calls.LIST_POLICIES, rows.ListPoliciesRow, locals())

    def list_proposals(
        self, corpus: str, state: str | None = None, count: int = 100
    ) -> Rows[rows.ListProposalsRow]:
        """Lists the latest 1 to 10000 proposals of a corpus, of one state (open, accepted,
        rejected) or of all; evidence_state says what has become of each: current, stale (an
        atom that it rests on is not current), redacted or tampered. Raises RG400, RG401,
        RG404.
        """
        return self._rows(calls.LIST_PROPOSALS, rows.ListProposalsRow, locals())

    def list_quotas(self) -> Rows[rows.ListQuotasRow]:
        """Lists the quotas that are set, and the bytes of blobs that each role has."""
        return self._rows(calls.LIST_QUOTAS, rows.ListQuotasRow, locals())

    def list_rerankers(self) -> Rows[rows.Rerankers]:
        """Lists the rerankers by name."""
        return self._rows(calls.LIST_RERANKERS, rows.Rerankers, locals())

    def list_shared_documents(
        self, corpus: str, sources: Sequence[str] | None = None
    ) -> Rows[rows.ListSharedDocumentsRow]:
        """Lists the sources of a shared corpus (null: all) with the event that decides each: its
        state (present, erased, waiting for its text, changed here since), the key of its
        author in hex, the peer with that key and its trust, whether that key is revoked,
        whether this database signs by it, and when it was signed and came here. Raises RG400,
        RG404.
        """
        return self._rows(calls.LIST_SHARED_DOCUMENTS, rows.ListSharedDocumentsRow, locals())

    def list_shared_events(
        self, corpus: str, after: int = 0, count: int = 1000
    ) -> Rows[rows.ListSharedEventsRow]:
        """Returns the events of a shared corpus after a position, at most count (1 to 1000) and
        about four million bytes: each as it was signed, its signature in hex, and its
        document (a text of JSON whose SHA-256 the event has) as long as that is what the
        corpus has. The read is recorded. Raises RG400, RG404, RG491.
        """
        return self._rows(calls.LIST_SHARED_EVENTS, rows.ListSharedEventsRow, locals())

    def list_signing_keys(self) -> Rows[rows.ListSigningKeysRow]:
        """Lists the signing keys without their secrets: whether the secret is kept in this
        database, and whether this session can sign or verify by it.
        """
        return self._rows(calls.LIST_SIGNING_KEYS, rows.ListSigningKeysRow, locals())

    def list_slices(
        self, corpus: str, since: datetime | None = None, count: int = 50, before: str | None = None
    ) -> Rows[rows.ListSlicesRow]:
        """Returns the slices of a corpus that are stored, newest first, stored at or after
        since; before the last id of the page before. The source is null where the anchor is
        gone. count is 1 to 10000. Raises RG400, RG404, RG435.
        """
        return self._rows(calls.LIST_SLICES, rows.ListSlicesRow, locals())

    def list_sources(
        self, only_due: bool = False, prefix: str = "", after: str = "", count: int | None = None
    ) -> Rows[rows.ListSourcesRow]:
        """Lists the sources of the contracts in force whose corpus the caller may read, all or
        those that are due: what is read from where, when it was last read, how old that may
        be (refresh; null: any age), and whether it is due. A source that was never read is
        due. They come by their contracts: those whose name begins with a prefix and comes
        after a given one, at most count (1 to 10000; null: all) and what else the last
        contract has. Raises RG400.
        """
        return self._rows(calls.LIST_SOURCES, rows.ListSourcesRow, locals())

    def list_static_models(self) -> Rows[rows.ListStaticModelsRow]:
        """Lists the embedders that run inside the database: how they cut words, their pieces,
        the digest, and which one new corpora get.
        """
        return self._rows(calls.LIST_STATIC_MODELS, rows.ListStaticModelsRow, locals())

    def list_synonyms(
        self, corpus: str, prefix: str = "", after: str = "", count: int | None = None
    ) -> Rows[rows.ListSynonymsRow]:
        """Lists the words of a corpus, or of its whole, that have synonyms, with these: those
        that begin with a prefix and come after a given one, at most count (1 to 10000; null:
        all). Raises RG400, RG404.
        """
        return self._rows(calls.LIST_SYNONYMS, rows.ListSynonymsRow, locals())

    def list_text_configs(self) -> Rows[rows.ListTextConfigsRow]:
        """Lists the text configurations that a corpus may have, each with the code of the
        language whose words it stems (simple stems none: null).
        """
        return self._rows(calls.LIST_TEXT_CONFIGS, rows.ListTextConfigsRow, locals())

    def list_tools(self) -> Rows[rows.ListToolsRow]:
        """Lists the tools and prompts (kind) of the contracts in force that have a retrieve and
        whose corpus the caller may read: JSON schemas of arguments and output, the fixed
        query or the argument that is the query, corpus and mode searched, and the reranker
        (null for none).
        """
        return self._rows(calls.LIST_TOOLS, rows.ListToolsRow, locals())

    def list_traces(
        self,
        corpus: str | None = None,
        since: datetime | None = None,
        count: int = 50,
        until: datetime | None = None,
        mode: str | None = None,
        outcome: str | None = None,
        min_elapsed_ms: float | None = None,
        before: UUID | str | None = None,
    ) -> Rows[rows.RetrievalTraces]:
        """Returns the caller's latest traces, newest first, of one corpus or of all that the
        caller may read, recorded at or after since and before until; for an auditor those of
        every role. mode is lexical, semantic, hybrid or reference; outcome found (with hits),
        empty (without), short (a slice that could not be searched whole) or failed;
        min_elapsed_ms how many milliseconds a search took at least; before the last id of the
        page before. count is 1 to 10000. Raises RG400, RG404.
        """
        return self._rows(calls.LIST_TRACES, rows.RetrievalTraces, locals())

    def list_turns(self, corpus: str, chunk_ids: Sequence[str]) -> Rows[rows.ListTurnsRow]:
        """Returns who said those of at most 1,000 chunks that are turns of conversations, and
        when, in the order given: the role, the name of the speaker where the conversation
        says it, and the time where it has one. Raises RG400, RG404.
        """
        return self._rows(calls.LIST_TURNS, rows.ListTurnsRow, locals())

    def list_unanswered(
        self,
        corpus: str | None = None,
        since: datetime | None = None,
        count: int = 50,
        before: UUID | str | None = None,
    ) -> Rows[rows.UnansweredQuestion]:
        """Returns the questions that were not answered among those the caller may read, of one
        corpus or of all, asked at or after since: reasons are no hit, too little evidence, no
        answer and wrong citation; times counts the retrievals, trace_id is the latest, and
        the list begins with the latest of all; eval_cases names the cases that ask the same.
        It reads the latest 2000 retrievals and 1000 gates and answers. count is 1 to 10000,
        before the last trace_id of the page before. Raises RG400, RG404.
        """
        return self._rows(calls.LIST_UNANSWERED, rows.UnansweredQuestion, locals())

    def list_versions(
        self, corpus: str, before: int | None = None, count: int = 100
    ) -> Rows[rows.ListVersionsRow]:
        """Lists the versions that a corpus can be searched as of, latest first, at most count (1
        to 10000) below one (null: all): when each began and how many documents and chunks
        there were; is_kept_from marks the earliest. Without history there is none. Raises
        RG400, RG404.
        """
        return self._rows(calls.LIST_VERSIONS, rows.ListVersionsRow, locals())

    def locate_quote(self, corpus: str, chunk_id: str, quote: str) -> Rows[rows.LocateQuoteRow]:
        """Finds a quote of 1 to 10000 characters in the text of a chunk as ragdb.check_citations
        does: method exact, normalised or approximate, similarity (0 to 1), and its place in
        characters from 0; no row where the chunk does not say it. Raises RG400, RG404, RG406.
        """
        return self._rows(calls.LOCATE_QUOTE, rows.LocateQuoteRow, locals())

    def log_position(self) -> str:
        """Returns where this server stands in the log, as SYSTEM/TIMELINE/LSN: what it has
        written, or on a standby what it has replayed. Asked for after a commit, it is a
        position that only those servers have reached which show what was committed.
        """
        return self._value(calls.LOG_POSITION, locals())

    def maintain(self) -> list[str]:
        """Drops history that is older than its corpus keeps it, 20000 rows at a call, and the
        words that static embedders keep of those they had to cut, once they are over 100000;
        makes the partitions that traces need: this month, three ahead, those of rows in the
        default partition, and an empty default partition; drops the tables of vectors that
        dropped spaces and corpora left, twenty at a call. Returns past_rows and static_words
        if it dropped some, then the names of the tables made and of those dropped; nothing
        when nothing was due. It also refreshes the rollups of schema bi. Call it outside any
        transaction that writes, at least monthly, and every few minutes for dashboards; of
        much that is due, call it until it returns nothing. Raises 25006.
        """
        return self._values(calls.MAINTAIN, locals())

    def map_corpus(
        self,
        corpus: str,
        count: int = 2000,
        query: str | None = None,
        chunk_ids: Sequence[str] | None = None,
    ) -> Rows[rows.MapPoint]:
        """Returns chunks of a corpus as points of a plane, near each other where their
        embeddings are: at most count of them (1 to 2000), evenly taken, the same each time;
        none without embeddings. Those of chunk_ids (1,000 at most) are among them, and change
        nothing of the others. With a query whose embedding is known, its place comes last,
        without a chunk. The axes are those along which the embeddings lie farthest apart and
        mean nothing by themselves. Raises RG400, RG401, RG404, RG415.
        """
        return self._rows(calls.MAP_CORPUS, rows.MapPoint, locals())

    def match_documents(
        self,
        query_embedding: Reals | Sequence[float],
        match_threshold: float = 0.0,
        match_count: int = 10,
        filter: Any = None,
        corpus: str | None = None,
    ) -> Rows[rows.MatchDocumentsRow]:
        """Returns the match_count (1 to 1000) chunks nearest to an embedding with a similarity
        of at least match_threshold (-1 to 1), in the columns of Supabase's guide; corpus may
        be left out where one readable corpus alone has embeddings. Raises RG400, RG401,
        RG404, RG410, RG415, RG417, RG418.
        """
        return self._rows(calls.MATCH_DOCUMENTS, rows.MatchDocumentsRow, locals())

    def merge_candidates(
        self,
        corpus: str,
        shares: Any,
        k: int = 10,
        mode: str = "lexical",
        min_score: float = 0.0,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        asked: str | None = None,
        is_unmet: bool = False,
    ) -> Rows[rows.MergeCandidatesRow]:
        """Merges what ragdb.search_candidates found on several servers: shares is a list with
        one list for each, of objects with chunk_id, score, lexical_score, semantic_score,
        lexical_rank and semantic_rank. Returns the k best as ragdb.search of the corpus in
        one piece would: of which share and place in it, from 1, with rank and score among
        all. asked is the query in syntax web and is_unmet whether only its plain words find
        something, for the notices of ragdb.search. Raises RG400, RG404.
        """
        return self._rows(calls.MERGE_CANDIDATES, rows.MergeCandidatesRow, locals())

    def merge_peer_answers(self, corpus: str, answer: Any, answers: Any, k: int = 5) -> Any:
        """Merges the answer of ragdb.rag_query with those of peers, an array of {"peer",
        "answer"} or {"peer", "error"}, into one of at most k chunks (1 to 20), by their
        ranks. Each chunk of a peer has in its metadata "peer", "author" (the key of the peer
        in hex) and "trust", and a local one of a document that a peer signed has "author" and
        "trust"; "meta" names the "peers" that were asked, each with the "error" of one that
        gave no answer. Raises RG400, RG404.
        """
        return self._value(calls.MERGE_PEER_ANSWERS, locals())

    def metrics(self) -> Rows[rows.MetricSample]:
        """Returns samples for Prometheus, at a cost that grows with neither documents nor
        retrievals: sizes of corpora (the 200 oldest by name, the others together), the
        retrievals of this month (UTC) as ragdb.refresh_rollups has counted them, and the
        queues, counting some 10000 jobs. The caller sees the corpora that they see in schema
        bi, and nothing of a query or a document.
        """
        return self._rows(calls.METRICS, rows.MetricSample, locals())

    def move_digest(self, move_id: UUID | str) -> Any:
        """Returns what both sides of a move must agree on, while the writers are held and all
        pages have arrived: settings, rights, synonyms, counts, and the hashes of documents
        and originals. Raises RG401, RG404, RG457, RG458.
        """
        return self._value(calls.MOVE_DIGEST, locals())

    def move_originals(self, move_id: UUID | str, after: str = "", count: int = 1000) -> list[str]:
        """Returns the cids of the next count (1 to 1000) originals of a corpus that leaves,
        after one; ragdb.get_blob has their bytes. Raises RG400, RG401, RG404, RG457.
        """
        return self._values(calls.MOVE_ORIGINALS, locals())

    def move_page(
        self, move_id: UUID | str, applied: int | None = None, count: int = 1000
    ) -> Rows[rows.MovePageRow]:
        """Returns the next documents of a corpus that leaves, of together about count chunks (1
        to 1000): all once, then those that have changed, with their embeddings in big-endian
        float4; without a source those that are gone, and in a row without a number the
        sources that are gone. applied is the number of the last page, once the other side has
        it; a page that is not applied comes again. No row when there is nothing. Raises
        RG400, RG401, RG404, RG457, RG458.
        """
        return self._rows(calls.MOVE_PAGE, rows.MovePageRow, locals())

    def move_receipt(self, move_id: UUID | str) -> bytes:
        """Returns the proof that a corpus is closed here, 32 bytes, with which ragdb.open_move
        opens it there. Raises RG401, RG404, RG457.
        """
        return self._value(calls.MOVE_RECEIPT, locals())

    def name_ledger(self, origin: str | None = None) -> str | None:
        """Names this database in the checkpoints of its ledger, such as example.com/evidence,
        before the first sealing; for null makes a name where there is none; returns the name.
        Raises RG400, RG481.
        """
        return self._value(calls.NAME_LEDGER, locals())

    def note_readings(self, corpus: str, readings: Any) -> int:
        """Notes how files were read, for ragdb.unchanged_sources, and returns of how many; none
        while another writes to the corpus. A reading is {"uri", "doc_cid", "reading",
        "event_id", "documents", "empty", "pages_without_text", "bad_characters", "cut"}:
        "doc_cid" is the identity of the bytes of the file, "reading" a SHA-256 in hex of what
        shapes its documents beside the bytes, "event_id" that which its document was put
        with, and the numbers, which may be missing, are what else was found in the file.
        "documents" says that the file is not a document but has so many, at its uri or below
        it ("chats.json#7"), and "event_id" is then the last of theirs. A file whose documents
        are others by now is passed over. Raises RG400, RG401, RG404, RG412.
        """
        return self._value(calls.NOTE_READINGS, locals())

    def open_http_session(self, token_hash: bytes | None = None) -> str | None:
        """Opens a session of a browser for a bearer token, given by its SHA-256, and returns its
        secret this once; null when the token is not good. Without a token the session has the
        role of the caller, and ragdb_admin when the caller is a superuser or the owner of the
        database.
        """
        return self._value(calls.OPEN_HTTP_SESSION, locals())

    def open_move(self, move_id: UUID | str, receipt: bytes) -> None:
        """Opens a corpus that has arrived, by the proof that it is closed where it was, to all
        who have rights to it. Raises RG457.
        """
        self._run(calls.OPEN_MOVE, locals())

    def optimize_corpus(
        self, corpus: str, new_pivot: float | None = None
    ) -> rows.OptimizeCorpusRow:
        """Sets a corpus's pivot to the mean length of its chunks (from 10,000 chunks on only
        where it is over 25 % off), brings bounds and blocks up to date, drops lexemes that no
        chunk has, and builds the index of vectors under a static embedder as
        ragdb.index_space does. A part keeps the pivot of its whole; with the name of the
        whole, the statistics of all parts are summed and all get one pivot: the given one,
        which servers that have parts of one corpus must agree on, or the mean. Raises RG400,
        RG401, RG404.
        """
        return self._row(calls.OPTIMIZE_CORPUS, rows.OptimizeCorpusRow, locals())

    def origin(self) -> rows.OriginRow:
        """Returns the id of this database, which signatures cover, and the name that it had when
        the id was made with its first key; no row before. A restored copy has the same id.
        """
        return self._row(calls.ORIGIN, rows.OriginRow, locals())

    def parse_contract(self, contract: str, contract_name: str = "contract") -> Any:
        """Returns the text of a contract (up to 10000000 characters, in the line syntax or as
        JSON) as {"contract": name, "nodes": [{"node", "line", "column", "keys", "columns",
        "children"}]}, which ragdb.apply_contract takes; lines and columns count from 1, and a
        column is a character. What the nodes mean is not checked. Raises RG400, RG413, RG440.
        """
        return self._value(calls.PARSE_CONTRACT, locals())

    def part_statistics(
        self, corpus: str, parts: Sequence[str] = ()
    ) -> Rows[rows.PartStatisticsRow]:
        """Returns what the statistics of a corpus count of each of its parts, here and on other
        servers (is_elsewhere): chunks, lexemes with each occurrence, and their SHA-256; of
        those named also each lexeme with how many chunks have it (null of others), for
        ragdb.put_part_statistics on another server. It takes the right to write, and all
        parts. Raises RG400, RG401, RG404.
        """
        return self._rows(calls.PART_STATISTICS, rows.PartStatisticsRow, locals())

    def policy_hash(self, policy: Any) -> str:
        """Returns the params_hash of a slice policy: 16 hex digits of xxHash64 over its
        canonical JSON. Raises RG430.
        """
        return self._value(calls.POLICY_HASH, locals())

    def prepare_query(self, corpus: str, query: str) -> bool:
        """Says whether a corpus can be searched for a query (1 to 32768 characters) by all that
        it has: it has no embeddings, no provider makes them, or the query has one; otherwise
        the workers are asked for that. Raises RG400, RG404.
        """
        return self._value(calls.PREPARE_QUERY, locals())

    def promote_to_atom(
        self,
        trace_id: UUID | str,
        chunk_ids: Sequence[str],
        text: str,
        sufficiency: str = "default",
    ) -> rows.PromoteToAtomRow:
        """Makes a statement out of hits of an admissible retrieval (ragdb.retrieve_slice), and
        returns its id with code PROMOTED; or refuses with NOT_ADMISSIBLE, TRACE_TAMPERED,
        CHUNK_NOT_RETRIEVED, TOKEN_INVALID, INSUFFICIENT_EVIDENCE or CLAIM_UNSUPPORTED (a
        sentence that none of the chunks has, case, white space and typography aside), the
        reason, and an incident. How much evidence is enough (sufficiency: default, lenient or
        strict) is counted in turns of conversations: a chunk of a document is none. Raises
        RG400, RG401, RG404, RG407.
        """
        return self._row(calls.PROMOTE_TO_ATOM, rows.PromoteToAtomRow, locals())

    def propose(self, corpus: str, atom_ids: Sequence[UUID], text: str) -> rows.ProposeRow:
        """Stores a conclusion that rests on atoms of one slice and returns its id with code
        PROPOSED; or refuses with ATOM_UNKNOWN, ATOM_STALE, ATOM_REDACTED, ATOM_TAMPERED or
        SLICES_MIXED, the reason, and an incident. Raises RG400, RG401, RG404.
        """
        return self._row(calls.PROPOSE, rows.ProposeRow, locals())

    def provenance(self, trace_id: UUID | str) -> Any:
        """Returns the provenance of a recorded retrieval as one object: query_id (the trace),
        retrieval_mode, retrieved_turn_ids, is_admissible, slice_info with the policy's
        reference, snapshot and token (null in global mode), hashes of query embedding and
        result, filters, limits, the least score and shortfall. Raises RG400, RG407.
        """
        return self._value(calls.PROVENANCE, locals())

    def prune_sources(
        self,
        corpus: str,
        prefix: str,
        keep: Sequence[str],
        root: str | None = None,
        derived: str = "redact",
        reason: str | None = None,
        dry_run: bool = False,
    ) -> rows.PruneSourcesRow:
        """Forgets the sources that begin with a prefix, came from a root (null: from anywhere)
        and are not among those to keep, every document that is left without one, and what was
        derived from it, as ragdb.delete_source does; returns how many documents and chunks
        went, with dry_run how many would go. One to keep that ends in # ("chats.json#") keeps
        what begins with it too. Raises RG400, RG401, RG404.
        """
        return self._row(calls.PRUNE_SOURCES, rows.PruneSourcesRow, locals())

    def publish_events(
        self, corpus: str, events: Sequence[str], signatures: Sequence[bytes]
    ) -> int:
        """Stores the events of ragdb.draft_events, in their order, with the 64 bytes of the
        Ed25519 signature of each, and returns their number; from then on peers can read them.
        The caller answers for the signatures: peers check them. Raises RG400, RG401, RG404,
        RG491, RG492.
        """
        return self._value(calls.PUBLISH_EVENTS, locals())

    def put_blob(self, bytes: bytes, media_type: str, corpus: str | None = None) -> str:
        """Keeps bytes once for all corpora and returns their identity, sha256: and 64 hex
        digits. Of the media types that the caller gives the last one counts; that by which a
        corpus got the bytes stays there. Readers of the corpus may read them, and of every
        corpus in which the caller puts their document. Raises RG400, RG401, RG404, RG470.
        """
        return self._value(calls.PUT_BLOB, locals())

    def put_conversations(
        self, corpus: str, conversations: Any, force: bool = False
    ) -> Rows[rows.PutResult]:
        """Stores conversations, an array of {"doc_cid", "uri", "session", "messages": [{"id",
        "parent_id" or "parents", "role", "speaker", "text", "created_at", "phase",
        "salience", "feedback"}]} beside the fields of a document: each message is a chunk and
        a turn, each parent an edge; what is not given is derived. The name of a speaker is
        the heading of what is said. Returns what put_documents returns. Raises RG401, RG404,
        RG412 and what put_documents raises.
        """
        return self._rows(calls.PUT_CONVERSATIONS, rows.PutResult, locals())

    def put_document(
        self,
        corpus: str,
        doc_cid: str,
        uri: str,
        chunks: Any,
        chunking: Any,
        title: str | None = None,
        language: str | None = None,
        media_type: str = "text/plain",
        metadata: Any = None,
        external_id: str | None = None,
        source_name: str = "",
        size_bytes: int | None = None,
        pages: int | None = None,
        etag: str | None = None,
        links: Any = None,
        force: bool = False,
    ) -> rows.PutResult:
        """Stores one document, as ragdb.put_documents does; size_bytes defaults to the bytes of
        its chunks. Raises RG400, RG401, RG404, RG409, RG412.
        """
        return self._row(calls.PUT_DOCUMENT, rows.PutResult, locals())

    def put_documents(
        self, corpus: str, documents: Any, force: bool = False
    ) -> Rows[rows.PutResult]:
        """Stores documents with their chunks, at most 10000, in one transaction and returns a
        row for each: its position from 0, its identity, chunks, tokens and event, whether it
        was there already, and the milliseconds of the whole call. What is there already is
        not written again unless force is true. A document is {"doc_cid", "uri", "media_type",
        "size_bytes", "chunking": {…}, "chunks": [{"text", "start", "end", "tokens", "page",
        "heading": […], "citation": {"uri", "locator", …}}], "title", "language", "metadata":
        {…}, "external_id", "source_name", "pages", "etag", "root", "adopt", "links":
        [{"chunk", "target"}]}; those from "title" on, "page", "heading" and "citation" may be
        missing. A source that came from another root, or that is a conversation and would be
        a plain document, is refused unless "adopt" is true. Raises RG400, RG401, RG404,
        RG409, RG412, RG413.
        """
        return self._rows(calls.PUT_DOCUMENTS, rows.PutResult, locals())

    def put_embeddings(
        self, corpus: str, chunk_ids: Sequence[str], embeddings: Reals | Sequence[float]
    ) -> int:
        """Stores embeddings that the caller made, one behind the other, for chunks of a corpus
        under its current embedder, in the place of any that they have, and returns for how
        many. Of the text of a chunk that changes later its embedding is dropped. Raises
        RG400, RG401, RG404, RG406, RG415, RG418.
        """
        return self._value(calls.PUT_EMBEDDINGS, locals())

    def put_part_statistics(
        self,
        corpus: str,
        part: str,
        version: int,
        chunks: int,
        lexeme_count: int,
        lexemes: Sequence[str],
        dfs: Sequence[int],
        synced_at: datetime,
    ) -> int:
        """Has the statistics of a corpus count a part that is on another server, as
        ragdb.part_statistics gave it there, and returns how many lexemes that changed. It
        takes the right to write to the corpus, whose ranking rests on what is given: each df
        is 1 to chunks, and lexeme_count at least their sum. Raises RG400, RG401, RG404,
        RG409, RG411, RG413.
        """
        return self._value(calls.PUT_PART_STATISTICS, locals())

    def put_query_embedding(
        self,
        corpus: str,
        query: str,
        embedding: Reals | Sequence[float],
        embedder: str | None = None,
    ) -> str:
        """Keeps the embedding of a query by an embedder, the current one of the corpus unless
        another is named, so that everyone can search by it, and returns its hash. Raises
        RG400, RG401, RG404, RG415, RG416, RG418.
        """
        return self._value(calls.PUT_QUERY_EMBEDDING, locals())

    def put_static_pieces(
        self,
        embedder: str,
        pieces: Sequence[str],
        ranks: Sequence[int],
        vectors: Reals | Sequence[float],
    ) -> int:
        """Puts pieces of a static embedder that is not bound yet, each with its rank and as many
        whole numbers from -511 to 511 as the embedder has dimensions, one vector behind the
        other, and returns how many. A piece that begins words begins with a space; the empty
        one is what a text without known words gets. Raises RG409, RG416, RG417, RG418.
        """
        return self._value(calls.PUT_STATIC_PIECES, locals())

    def put_text(
        self,
        corpus: str,
        source: str,
        text: str,
        title: str | None = None,
        language: str | None = None,
        metadata: Any = None,
        external_id: str | None = None,
        strategy: str = "paragraph",
        max_tokens: int = 240,
        overlap: int = 48,
        unit: str = "token",
        media_type: str | None = None,
        force: bool = False,
    ) -> rows.PutResult:
        """Cuts a text by the chunker para-sent/1 (docs/chunker.md) and stores it as the document
        of a source, as ragdb.put_documents does. Where media_type is null it is text/markdown
        for a source that ends in .md, .markdown, .mdown or .mkd, else text/plain. A Markdown
        text has the title, headings, links and metadata that ragdb ingest reads of it; front
        matter that is not plain YAML stays in the text. What the call gives wins. Where no
        language is given or named, it is the one that the text is in. Where there is no such
        corpus it is created with the text configuration of that language (english: cannot be
        told). Raises RG400, RG401, RG404, RG409, RG411, RG412.
        """
        return self._row(calls.PUT_TEXT, rows.PutResult, locals())

    def put_texts(
        self,
        corpus: str,
        texts: Sequence[str],
        metadatas: Any = None,
        ids: Sequence[str] | None = None,
        cut: bool = True,
        embedder: str | None = None,
        embeddings: Reals | Sequence[float] | None = None,
    ) -> Rows[rows.PutTextsRow]:
        """Stores texts, at most 10000, each as the document of a source that is called as its
        id, and returns the ids; a text that has the id of an earlier one takes its place.
        metadatas is an array of objects. Without ids each text is named by a hash of itself
        and its metadata. The corpus is created where there is none, with the text
        configuration of the language that most texts are in (english: cannot be told). The
        document of a text has the language that it is in. Each text is cut into chunks, of an
        id that ends as in ragdb.put_text as Markdown, or is one (cut: false), whose id is
        then that of the text. embeddings, one behind the other, are those of the texts by an
        embedder that runs elsewhere, to which the corpus is bound. Raises RG400, RG401,
        RG404, RG409, RG411, RG412, RG413, RG416, RG417, RG418.
        """
        return self._rows(calls.PUT_TEXTS, rows.PutTextsRow, locals())

    def query_embedder(
        self, corpora: Sequence[str], mode: str | None = None
    ) -> rows.Embedders | None:
        """Returns the model outside the database that embeds the queries of a search of some
        corpora (null: all that the caller may read) in a mode; no row when it compares words
        alone, as it does without a mode until all is embedded, when the database embeds by
        itself, and when the corpora have several embedders. A corpus without chunks has no
        say beside others. Raises RG400, RG401, RG404.
        """
        return self._row_if_any(calls.QUERY_EMBEDDER, rows.Embedders, locals())

    def query_embedding_state(self, corpus: str, query: str) -> Rows[rows.QueryEmbeddingStateRow]:
        """Says whether a query's embedding is kept or made by the search itself, and why a
        worker failed to make it. Raises RG400, RG401, RG404, RG415.
        """
        return self._rows(calls.QUERY_EMBEDDING_STATE, rows.QueryEmbeddingStateRow, locals())

    def rag_enough_context_gate(
        self,
        query: str,
        pack: Any,
        min_chunks: int = 1,
        min_score: float | None = None,
        min_coverage: float = 0.5,
    ) -> Any:
        """Decides whether a pack is enough for a query: at least min_chunks (0 to 1000), a best
        score of min_score (0 to 1; null: the floor that the corpus has for the mode of the
        trace, else 0) or more, and min_coverage (0 to 1) of the query's terms somewhere in
        it, weighed by their idf where the caller may read the corpus ("how long", "tell me
        about" and their like are no terms, nor is what a question only tells and the evidence
        lacks). A term is there also as what read_as shows: what the corpus takes it for,
        mended or as a synonym, with the share of it that each lexeme stands for. A term of
        letters and digits, such as X200, or a version, such as 4.2, weighs four times if it
        is missing. Returns enough with all it was decided by, and names, the lexemes that a
        text which answers has to name. min_score_by is caller, corpus or none. Raises RG400,
        RG413, RG460.
        """
        return self._value(calls.RAG_ENOUGH_CONTEXT_GATE, locals())

    def rag_ingest(self, request: Any) -> Any:
        """Capability rag.ingest@1.0: {"params": {"corpus"}, "input": {"doc_cid" (of a blob),
        "source" (the doc_cid, unless given), "title", "language", "metadata"}} gives
        {"output": {"doc_cid", "chunks_indexed", "tokens_indexed"}, "meta": {"corpus", "ms",
        "ingest_event_id"}}, of a document that is there already its existing result; or
        {"error"} with not_found, bad_request, unauthorized, rate_limited, capacity_exceeded,
        or partition while a worker reads the blob.
        """
        return self._value(calls.RAG_INGEST, locals())

    def rag_list_corpora(self, request: Any = None) -> Any:
        """Capability rag.list_corpora@1.0: {"params": {}, "input": {"prefix", "after", "count"
        (1 to 10000, all)}} gives {"output": {"corpora": [{"name", "docs", "chunks",
        "size_bytes", "language_majority"}]}, "meta": {"ms"}}, of the corpora that the caller
        may read without personal, by name, in pages as of ragdb.list_corpora; or {"error"}
        with bad_request, unauthorized or capacity_exceeded.
        """
        return self._value(calls.RAG_LIST_CORPORA, locals())

    def rag_query(self, request: Any) -> Any:
        """Capability rag.query@1.0: {"params": {"corpus"}, "input": {"query", "k" (1 to 20, 5),
        "filter", "include_text" (true)}} gives {"output": {"chunks": [{"rank", "score",
        "text", "metadata": {"doc_cid", "doc_title", "page", "chunk_id"}}]}, "meta":
        {"corpus", "ms", "embedding_model"}} and records a trace; or {"error"} with not_found,
        bad_request, unauthorized, capacity_exceeded, or partition while a worker embeds the
        query. Raises 25006 where nothing can be written.
        """
        return self._value(calls.RAG_QUERY, locals())

    def rag_query_plan(self, question: str) -> Any:
        """Plans the retrieval for a question without a model: needs_retrieval (false for
        greetings, arithmetic and what has no word to search for), queries (the question
        without courtesy such as "can you tell me about", its parts, what it quotes, the names
        in it; 16 at most) and the reason. Raises RG400, RG413.
        """
        return self._value(calls.RAG_QUERY_PLAN, locals())

    def ranking_digest(self, corpus: str) -> str:
        """Returns the SHA-256 (hex) of what the scores of a corpus with parts rest on beside its
        chunks: how it is analysed, k1, b, the pivot, what is counted of each part, the
        embedder, the synonyms. Servers on which it is equal give a chunk the same score.
        Raises RG400, RG404.
        """
        return self._value(calls.RANKING_DIGEST, locals())

    def ready_move(self, move_id: UUID | str, digest: Any) -> None:
        """Compares a corpus that has arrived with what ragdb.move_digest returned there, once
        ragdb.check_move has found no difference. Raises RG413, RG457.
        """
        self._run(calls.READY_MOVE, locals())

    def receive_move(
        self,
        move_id: UUID | str,
        numbers: Sequence[int] | None = None,
        sources: Sequence[str] | None = None,
        hashes: Sequence[bytes] | None = None,
        uris: Sequence[str] | None = None,
    ) -> None:
        """Opens a corpus that arrives to this transaction, in which ragdb.import_documents,
        ragdb.import_embeddings and ragdb.put_blob then store what came; notes the documents
        of a page and their hashes (null sources: gone), and takes away what is at some uris.
        Raises RG400, RG457.
        """
        self._run(calls.RECEIVE_MOVE, locals())

    def record_answer(
        self,
        output: Any,
        evidence: Any,
        trace_id: UUID | str | None = None,
        require_citations: bool = False,
        require_admissible: bool = False,
        min_coverage: float = 0.0,
        min_quote: int = 8,
        offsets: str = "codepoint",
        task: str | None = None,
        model: str | None = None,
        attempt: int = 1,
        client: str | None = None,
        elapsed_ms: float | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
    ) -> Rows[rows.RecordAnswerRow]:
        """Checks the citations of an output as ragdb.check_citations, whose rows it returns
        after the id of the answer, and records the answer and what each citation came to,
        without any text; task, model and client (up to 200 characters each) are names,
        attempt (1 to 1000) counts the tries, elapsed_ms (milliseconds), input_tokens and
        output_tokens say what the answer took. Raises what ragdb.check_citations raises,
        RG400, RG404, RG413, and 25006 where nothing can be written.
        """
        return self._rows(calls.RECORD_ANSWER, rows.RecordAnswerRow, locals())

    def record_erasure(self, entries: Sequence[str], reason: str) -> None:
        """Records, as an act in the ledger, that 1 to 10000 rows, each named kind:id, were
        erased or redacted on purpose, and why (1 to 10000 characters); ragdb.verify_ledger
        then misses them no more. Raises RG400.
        """
        self._run(calls.RECORD_ERASURE, locals())

    def record_failure(
        self,
        corpus: str,
        query: str,
        error_code: str,
        elapsed_ms: float,
        k: int | None = None,
        mode: str | None = None,
        min_score: float | None = None,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
        slice_id: str | None = None,
        anchor: str | None = None,
        policy: Any = None,
    ) -> UUID:
        """Records the trace of a retrieval that raised the SQLSTATE error_code after elapsed_ms
        milliseconds, with the arguments it had (slice_id or anchor and policy for one under a
        slice), and returns its id; the caller's client calls it after the rollback. Raises
        RG400, RG404, RG413, RG470.
        """
        return self._value(calls.RECORD_FAILURE, locals())

    def record_feedback(
        self,
        verdict: str,
        trace_id: UUID | str | None = None,
        answer_id: UUID | str | None = None,
        chunk_id: str | None = None,
        comment: str | None = None,
        client: str | None = None,
    ) -> UUID:
        """Records what a person says of a retrieval that the caller may read, of one hit of it
        (chunk_id) or of an answer from it (answer_id, which may stand in for trace_id), and
        returns its id; verdict is good or bad, comment has up to 4000 characters, client (up
        to 200) names the program. Of several verdicts of a role the last one counts. Raises
        RG400, RG406, RG407, RG413, and 25006 where nothing can be written.
        """
        return self._value(calls.RECORD_FEEDBACK, locals())

    def record_gate(
        self,
        query: str,
        pack: Any,
        min_chunks: int = 1,
        min_score: float | None = None,
        min_coverage: float = 0.5,
        trace_id: UUID | str | None = None,
        client: str | None = None,
    ) -> Any:
        """Decides as ragdb.rag_enough_context_gate whether a pack is enough for a query, records
        what it was decided by and the verdict, and returns it with gate_id; trace_id is that
        of the pack unless given, client (up to 200 characters) names the program. Raises what
        ragdb.rag_enough_context_gate raises, RG404, RG407, and 25006 where nothing can be
        written.
        """
        return self._value(calls.RECORD_GATE, locals())

    def record_reading(
        self, corpus: str, source_name: str, documents: int, failed: int = 0
    ) -> None:
        """Records that a source of a contract was read now: so many documents, those included
        that had not changed, and so many failures. A source of which nothing could be read
        stays as old as it was. Raises RG400, RG401, RG404.
        """
        self._run(calls.RECORD_READING, locals())

    def record_reads(self, corpus: str, mode: str) -> None:
        """Says whether reads of a corpus and of all its parts are events of access: off (the
        default), on (recorded where the transaction can write, so not on a standby), or
        required (refused where they cannot be). A reader who rolls back takes the event back;
        a line of the server's log stays. Raises RG400, RG401, RG404.
        """
        self._run(calls.RECORD_READS, locals())

    def record_refusal(self, corpus: str, error_code: str) -> None:
        """Records that the caller was refused at a corpus by RG401, RG404 or 42501; a client
        calls it after the rollback. It records nothing where there is no such corpus or the
        caller has every right to it, and does not say so. Raises RG400, RG470, and 25006
        where nothing can be written.
        """
        self._run(calls.RECORD_REFUSAL, locals())

    def record_rerank(
        self,
        trace_id: UUID | str,
        model: str,
        chunk_ids: Sequence[str],
        scores: Reals | Sequence[float],
        k: int | None = None,
    ) -> Rows[rows.RetrievalReranks]:
        """Records, once, what a reranker gave each hit of a trace of the caller's (chunk_ids and
        their finite scores, in any order), and returns the hits by score, equal ones in the
        order of the trace; the first k (1 to 1000; null: all) are what the caller keeps.
        Raises RG400, RG401, RG407, RG409, RG421, RG423, and 25006 where nothing can be
        written.
        """
        return self._rows(calls.RECORD_RERANK, rows.RetrievalReranks, locals())

    def reembed_corpus(
        self, corpus: str, embedder: str, m: int = 16, ef_construction: int = 128
    ) -> int:
        """Starts, or takes up again, a second space of a corpus under another embedder, beside
        the current one, and returns it; workers fill it. Raises RG400, RG401, RG404, RG409,
        RG416.
        """
        return self._value(calls.REEMBED_CORPUS, locals())

    def refresh_rollups(self, recount: bool = False) -> int:
        """Brings the rollups behind bi.agg_retrieval_hour and its kin up to date and returns the
        number of hours counted, each of one corpus: those with new traces, or with recount
        all whose traces are kept. ragdb.maintain does it too. Raises RG400.
        """
        return self._value(calls.REFRESH_ROLLUPS, locals())

    def register_policy(self, policy: Any) -> rows.RegisterPolicyRow:
        """Registers a slice policy (fields left out have their defaults, weights count to six
        decimals) and returns its reference; registering it again changes nothing. Raises
        RG409, RG430.
        """
        return self._row(calls.REGISTER_POLICY, rows.RegisterPolicyRow, locals())

    def register_signing_key(self, key_id: str) -> None:
        """Makes the key whose secret this session was given the one that signs from now on; the
        database keeps a commitment to the secret and not the secret. Raises RG400, RG409.
        """
        self._run(calls.REGISTER_SIGNING_KEY, locals())

    def registry_fingerprint(self) -> str:
        """Returns xxHash64 over the ordered JSON list of the references that ragdb.list_policies
        returns: equal registries have equal fingerprints.
        """
        return self._value(calls.REGISTRY_FINGERPRINT, locals())

    def remove_edges(self, corpus: str, edges: Any) -> int:
        """Takes away edges that ragdb.add_edges added, given as it takes them, and returns how
        many. An edge that a document or a conversation says stays. Raises RG400, RG401,
        RG404, RG406, RG412.
        """
        return self._value(calls.REMOVE_EDGES, locals())

    def remove_peer(self, name: str) -> None:
        """Forgets a peer and how far its corpora were read. What it brought stays. Raises RG490."""
        self._run(calls.REMOVE_PEER, locals())

    def remove_synonyms(self, corpus: str, word: str) -> int:
        """Takes a word out of the synonyms of a corpus, and returns how many pairs had it.
        Raises RG400, RG401, RG404.
        """
        return self._value(calls.REMOVE_SYNONYMS, locals())

    def renew_embeddings(self, worker: str, lease: timedelta | str = "00:01:00") -> int:
        """Renews the lease (1 s to 1 day) of all that a worker has claimed and not lost, and
        returns how many inputs that is. Raises RG400.
        """
        return self._value(calls.RENEW_EMBEDDINGS, locals())

    def repair_corpus(self, corpus: str) -> None:
        """Rebuilds a corpus's counters, lexical index and the lexemes of its synonyms, atoms and
        proposals from its documents, its chunks and their texts; of one with parts, what it
        counts of them. Raises RG400, RG401, RG404, RG413.
        """
        self._run(calls.REPAIR_CORPUS, locals())

    def replay(self, trace_id: UUID | str) -> rows.ReplayRow:
        """Runs a recorded retrieval again, in its corpus as it was then where the history of
        that was kept, and says how it compares: exact (ids, contents, order, scores),
        same_order, same_set or drifted, with the cause (trace_tampered, embedder_changed,
        erased, config_changed, corpus_changed, ann_nondeterminism) and the chunks that
        differ; or not_replayable with its cause (failed_retrieval, query_text_not_kept,
        query_embedding_not_kept). Raises RG400, RG404, RG407.
        """
        return self._row(calls.REPLAY, rows.ReplayRow, locals())

    def replay_cited(
        self, corpus: str, slice_id: str, query_hash: str, policy_hash: str
    ) -> rows.ReplayCitedRow:
        """Replays the latest retrieval that a citation of slice, query (SHA-256 of its text or
        of its embedding, hex) and policy (params_hash) names, as ragdb.replay does. Raises
        RG400, RG404, RG407.
        """
        return self._row(calls.REPLAY_CITED, rows.ReplayCitedRow, locals())

    def replay_hits(self, trace_id: UUID | str) -> Rows[rows.ReplayHitsRow]:
        """Runs a recorded retrieval again, in its corpus as it was then where the history of
        that was kept, and returns what was recorded beside what is found, in the order of the
        latter: change is same, moved, left or entered, and null where the retrieval cannot be
        run again; is_unchanged is whether a recorded chunk says what it said, and null for
        one that entered; its source and text are those of the version as_of, or of now where
        that is null; null where it is gone. Raises RG400, RG404, RG407, RG435.
        """
        return self._rows(calls.REPLAY_HITS, rows.ReplayHitsRow, locals())

    def report_key_compromise(self, key_id: str, since: datetime | None = None) -> None:
        """Revokes a key that somebody else may have had since a time (null: always):
        verification says of every trace that it signed since then that it is not to be
        trusted. A later call can only move the time back. Raises RG400, RG432.
        """
        self._run(calls.REPORT_KEY_COMPROMISE, locals())

    def request_query_embedding(self, corpus: str, query: str) -> bool:
        """Asks the workers for the embedding of a query (1 to 32768 characters) and says whether
        it is there already. Raises RG400, RG401, RG404, RG415.
        """
        return self._value(calls.REQUEST_QUERY_EMBEDDING, locals())

    def requeue_embeddings(self, corpus: str | None = None) -> int:
        """Has workers look again at every chunk without an embedding, of one corpus or all that
        the caller may write, and returns the number of spaces. Raises RG401, RG404.
        """
        return self._value(calls.REQUEUE_EMBEDDINGS, locals())

    def rerank_depth(self, k: int) -> int:
        """Returns how many hits to retrieve for a reranker that is to leave k of them: 4 k, at
        most 1000.
        """
        return self._value(calls.RERANK_DEPTH, locals())

    def resolve_anchor(
        self,
        corpus: str,
        chunk_id: str | None = None,
        session: str | None = None,
        query: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        project: str | None = None,
    ) -> Rows[rows.ResolveAnchorRow]:
        """Returns an anchor and which way gave it: the chunk id itself (explicit), the latest
        turn of the session, the best hit of the query (query), the most recent turn
        (temporal); no row when none does. Raises RG400, RG404, RG418.
        """
        return self._rows(calls.RESOLVE_ANCHOR, rows.ResolveAnchorRow, locals())

    def resolve_explicit(self, corpus: str, chunk_id: str) -> str | None:
        """Returns the chunk id when the corpus has that chunk, else null. Raises RG400, RG404."""
        return self._value(calls.RESOLVE_EXPLICIT, locals())

    def resolve_from_query(
        self,
        corpus: str,
        query: str,
        mode: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
    ) -> str | None:
        """Returns the best hit of a query as an anchor, or null when nothing matches. Raises
        what ragdb.search raises.
        """
        return self._value(calls.RESOLVE_FROM_QUERY, locals())

    def resolve_from_session(self, corpus: str, session: str) -> str | None:
        """Returns the latest turn of a session, or null when it has none. Raises RG400, RG404."""
        return self._value(calls.RESOLVE_FROM_SESSION, locals())

    def resolve_temporal(
        self, corpus: str, count: int = 1, project: str | None = None
    ) -> Rows[rows.ResolveTemporalRow]:
        """Returns the 1 to 1000 most recent turns, of conversations whose metadata names the
        project when one is given. Raises RG400, RG404.
        """
        return self._rows(calls.RESOLVE_TEMPORAL, rows.ResolveTemporalRow, locals())

    def restrict_corpus(self, corpus: str) -> None:
        """Closes a corpus to everybody but admins and the roles that have a grant, until
        ragdb.unrestrict_corpus. Where it was open it waits for who writes to it. Raises
        RG400, RG401, RG404.
        """
        self._run(calls.RESTRICT_CORPUS, locals())

    def retrieve(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> Recorded[rows.TracedHit]:
        """Returns the hits of ragdb.search with the same arguments, best first, each with the id
        of the one trace that is recorded in the same transaction; client (up to 200
        characters) names the program, otel_trace_id and otel_span_id its OpenTelemetry span.
        Raises what ragdb.search raises, RG400, RG413, and 25006 where nothing can be written.
        """
        return self._recorded(calls.RETRIEVE, rows.TracedHit, locals())

    def retrieve_global(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> Recorded[rows.TurnHit]:
        """Returns the hits of ragdb.search with the same arguments and what is known of them as
        turns, and records the one trace, which is never admissible. Raises what ragdb.search
        raises, RG413, and 25006 where nothing can be written.
        """
        return self._recorded(calls.RETRIEVE_GLOBAL, rows.TurnHit, locals())

    def retrieve_slice(
        self,
        corpus: str,
        query: str,
        slice_id: str | None = None,
        anchor: str | None = None,
        policy: Any = None,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> Recorded[rows.TurnHit]:
        """Returns the hits of ragdb.search_slice with the same arguments and records the one
        trace that proves them: slice, policy, snapshot and a fresh token, over evidence
        recomputed from the rows; not admissible where members are not in the lexical index,
        or have no embedding for a search by meaning. Raises what ragdb.search_slice raises,
        RG433, and RG436 when the stored slice's evidence has changed.
        """
        return self._recorded(calls.RETRIEVE_SLICE, rows.TurnHit, locals())

    def retrieve_tool(
        self,
        tool: str,
        arguments: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
        rerank_scores: Any = None,
    ) -> Any:
        """Calls a tool of a contract as ragdb.search_tool does and records the trace, with the
        reranking; the id of the trace is in the provenance. client, otel_trace_id and
        otel_span_id are those of ragdb.retrieve. Raises what ragdb.search_tool and
        ragdb.retrieve raise.
        """
        return self._value(calls.RETRIEVE_TOOL, locals())

    def retrieve_with(
        self,
        retriever: str,
        query: str,
        k: int | None = None,
        min_score: float | None = None,
        filter: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        rag: str | None = None,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
        rerank: str | None = None,
    ) -> Recorded[rows.TracedHit]:
        """Searches through a retriever of a contract, or that of a rag, by its mode, topK and
        minScore unless k (1 to 1000) or min_score (0 to 1) say otherwise, and records the
        trace with both names. A retriever that declares a reranker must be asked for its
        ranking before reranking (rerank: none), which a client reranks. Raises what
        ragdb.retrieve raises, RG415, RG417, RG441.
        """
        return self._recorded(calls.RETRIEVE_WITH, rows.TracedHit, locals())

    def retry_failed(self, corpus: str | None = None) -> int:
        """Makes all inputs that failed, dead or backing off, due at once, of one corpus or all
        that the caller may write, and returns how many. Raises RG401, RG404.
        """
        return self._value(calls.RETRY_FAILED, locals())

    def revoke_corpus(self, corpus: str, role: str) -> None:
        """Takes a role's right to a corpus away, also that of a role that is gone. The corpus
        stays restricted: without any grant left it is the admins' alone. Raises RG400, RG401,
        RG404.
        """
        self._run(calls.REVOKE_CORPUS, locals())

    def revoke_http_token(self, name: str) -> None:
        """Revokes a bearer token: the next request with it is refused. Raises RG454."""
        self._run(calls.REVOKE_HTTP_TOKEN, locals())

    def revoke_peer(self, name: str, reason: str) -> None:
        """Revokes the key of a peer for a reason (1 to 1000 characters): no event of it that is
        not here already is taken, whoever brings it, and it is asked nothing. Raises RG400,
        RG490.
        """
        self._run(calls.REVOKE_PEER, locals())

    def revoke_signing_key(self, key_id: str) -> None:
        """Revokes a key: every token it signed fails from now on. Raises RG432."""
        self._run(calls.REVOKE_SIGNING_KEY, locals())

    def rollback_corpus(self, corpus: str) -> str:
        """Makes the space that was current before current again, and returns its embedder;
        chunks that came since are queued for it. Raises RG400, RG401, RG404, RG409.
        """
        return self._value(calls.ROLLBACK_CORPUS, locals())

    def run_eval(
        self,
        rag: str,
        eval: str | None = None,
        tags: Sequence[str] | None = None,
        label: str | None = None,
        rerank_scores: Any = None,
    ) -> rows.EvalRuns:
        """Runs the cases of an eval (the only one of the rag unless named; those with one of the
        tags, all when null) and the answer contracts of its rag through the rag's retriever,
        each retrieval recorded, and returns the run with its verdict. A case whose retriever
        raises has RETRIEVER_ERROR and the others go on. Where the retriever declares a
        reranker, rerank_scores is what that gave to the rows of ragdb.eval_candidates:
        {"query": {"chunk_id": score}}. Raises RG404, RG415, RG417, RG441, RG442.
        """
        return self._row(calls.RUN_EVAL, rows.EvalRuns, locals())

    def seal_ledger(self, most: int = 100000) -> rows.SealLedgerRow:
        """Seals noted rows of evidence, at most 1 to 1000000 of them: numbers them without a gap
        and adds them to the tree; returns how many were new, the size of the ledger, its last
        sealing time, which never falls, and whether nothing is left. Writers do not wait for
        it; a second sealer does. Raises RG400, RG482.
        """
        return self._row(calls.SEAL_LEDGER, rows.SealLedgerRow, locals())

    @overload
    def search(
        self,
        corpora: Sequence[str] | None = None,
        query: str | None = None,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
        as_of: int | None = None,
    ) -> Rows[rows.Hit]:
        """Returns the k (1 to 1000) best chunks of several corpora (null: all that the caller
        may read) for a query, in one order of scores in [0, 1], with the arguments of the
        search of one; as_of takes one corpus. Raises RG400, RG401, RG404, RG410, RG415,
        RG418, RG437.
        """

    @overload
    def search(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
        as_of: int | None = None,
    ) -> Rows[rows.Hit]:
        """Returns the k (1 to 1000) best chunks of a corpus (null: all that the caller may read)
        for a query, by score (0 to 1, none below min_score), then chunk_id. mode is lexical,
        semantic, hybrid or reference, and when left out hybrid where the corpus has
        embeddings and the query one, given (query_embedding) or kept, else lexical. In syntax
        plain every word of the query only ranks; in web a "phrase" and a +word are demanded
        and a -word is excluded, and a notice says so where that leaves nothing, or where a
        phrase has fewer than two words that count. A hybrid search joins its legs by fusion
        (convex or rrf) with lexical_weight (0 to 1, null: what suits the embedder);
        min_lexical and min_semantic are floors for the legs, one that did not run counting 0.
        as_of is a version of a corpus that keeps its history (ragdb.version_at gives that of
        a time): the hits, their order and their scores are those of the corpus as it was
        then, and every chunk of it is looked at. Raises RG400, RG401, RG404, RG410, RG415,
        RG418, RG437.
        """

    def search(self, *args: Any, **kwargs: Any) -> Rows[rows.Hit]:
        """search(corpus, query, k=10, mode=None, min_score=0.0, filter=None, chunk_ids=None,
        statistics=None, query_embedding=None, fusion='convex', lexical_weight=None,
        min_lexical=0.0, min_semantic=0.0, syntax='plain', per_document=None, collapse=False,
        diversity=0.0, context=0, section=False, typos=True, as_of=None)

        Returns the k (1 to 1000) best chunks of a corpus (null: all that the caller may read)
        for a query, by score (0 to 1, none below min_score), then chunk_id. mode is lexical,
        semantic, hybrid or reference, and when left out hybrid where the corpus has
        embeddings and the query one, given (query_embedding) or kept, else lexical. In syntax
        plain every word of the query only ranks; in web a "phrase" and a +word are demanded
        and a -word is excluded, and a notice says so where that leaves nothing, or where a
        phrase has fewer than two words that count. A hybrid search joins its legs by fusion
        (convex or rrf) with lexical_weight (0 to 1, null: what suits the embedder);
        min_lexical and min_semantic are floors for the legs, one that did not run counting 0.
        as_of is a version of a corpus that keeps its history (ragdb.version_at gives that of
        a time): the hits, their order and their scores are those of the corpus as it was
        then, and every chunk of it is looked at. Raises RG400, RG401, RG404, RG410, RG415,
        RG418, RG437.

        search(corpora=None, query=None, k=10, mode=None, min_score=0.0, filter=None,
        chunk_ids=None, statistics=None, query_embedding=None, fusion='convex',
        lexical_weight=None, min_lexical=0.0, min_semantic=0.0, syntax='plain',
        per_document=None, collapse=False, diversity=0.0, context=0, section=False,
        typos=True, as_of=None)

        Returns the k (1 to 1000) best chunks of several corpora (null: all that the caller
        may read) for a query, in one order of scores in [0, 1], with the arguments of the
        search of one; as_of takes one corpus. Raises RG400, RG401, RG404, RG410, RG415,
        RG418, RG437.
        """
        call, given = choose((calls.SEARCH_1, calls.SEARCH_2), args, kwargs)
        return self._rows(call, rows.Hit, given)

    def search_candidates(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        syntax: str = "plain",
        per_document: int | None = None,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
        expects: str | None = None,
    ) -> Rows[rows.Hit]:
        """Returns what the parts of a corpus that this server has find for a query, with the
        arguments of ragdb.search, for ragdb.merge_candidates: the k best, in mode hybrid all
        that both legs rank. expects is the ragdb.ranking_digest that all servers must have
        (null: any). Raises RG400, RG401, RG404, RG410, RG415, RG417, RG418, RG439.
        """
        return self._rows(calls.SEARCH_CANDIDATES, rows.Hit, locals())

    def search_documents(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        chunks_per_document: int = 3,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        syntax: str = "plain",
        typos: bool = True,
    ) -> Rows[rows.DocumentHit]:
        """Returns the k best documents of a corpus (null: all that the caller may read) for a
        query, by the score of their best chunk, each with its chunks_per_document (1 to 100;
        k times as many are 1000 at most) best chunks as objects with chunk_id, score,
        heading, page, start_offset, end_offset, text and citation. The rest is as in
        ragdb.search. Raises RG400, RG401, RG404, RG410, RG415, RG418.
        """
        return self._rows(calls.SEARCH_DOCUMENTS, rows.DocumentHit, locals())

    def search_dual(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
    ) -> Rows[rows.SearchDualRow]:
        """Searches both planes, the raw chunks (with the arguments of ragdb.search) and what was
        promoted from them (atoms and proposals), and returns the k best with their plane,
        what they rest on, and the state of what was promoted: current, stale (its evidence is
        gone or says something else) or tampered. A statement is scored as a chunk is; its
        meaning is that of the nearest chunk that it rests on, by rrf its ranks are those
        among statements, and all of its chunks have to meet a filter. Raises what
        ragdb.search raises.
        """
        return self._rows(calls.SEARCH_DUAL, rows.SearchDualRow, locals())

    def search_global(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
    ) -> Rows[rows.TurnHit]:
        """Returns the hits of ragdb.search with the same arguments and what is known of them as
        turns; they are never admissible. filter also takes role, phase, session and
        min_salience. Raises what ragdb.search raises.
        """
        return self._rows(calls.SEARCH_GLOBAL, rows.TurnHit, locals())

    def search_slice(
        self,
        corpus: str,
        query: str,
        slice_id: str | None = None,
        anchor: str | None = None,
        policy: Any = None,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
    ) -> Rows[rows.TurnHit]:
        """Returns the k best members of a slice (by the id of a stored one, or by anchor and
        policy) for a query, with the other arguments of ragdb.search, exactly and without
        recording; filter also takes role, phase, session and min_salience. Raises what
        ragdb.search raises, RG430, RG431, RG434, RG435.
        """
        return self._rows(calls.SEARCH_SLICE, rows.TurnHit, locals())

    def search_tool(
        self,
        tool: str,
        arguments: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        rerank_scores: Any = None,
    ) -> Any:
        """Calls a tool of a contract: {"<as>": [{"id", "text", "<sourceField>", "<scoreField>",
        "<citationField>", "provenance"}], "provenance"}, under the names that its retrieve
        node gives (chunks, source, score and citation unless it gives others), cut to its
        rag's maxContext in code points, and records nothing. Where its retriever declares a
        reranker, rerank_scores is what that gave to the rows of ragdb.tool_candidates,
        {"chunk_id": score}. Raises what ragdb.search raises, RG400, RG415, RG417, RG423,
        RG441, and RG445 where required citations or evidence are missing.
        """
        return self._value(calls.SEARCH_TOOL, locals())

    def search_with(
        self,
        retriever: str,
        query: str,
        k: int | None = None,
        min_score: float | None = None,
        filter: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        rag: str | None = None,
        rerank: str | None = None,
    ) -> Rows[rows.Hit]:
        """Searches as ragdb.retrieve_with does, and records nothing. Raises what ragdb.search
        raises, RG415, RG417, RG441.
        """
        return self._rows(calls.SEARCH_WITH, rows.Hit, locals())

    def set_default_embedder(self, embedder: str | None = None) -> None:
        """Makes a static embedder the one that new corpora get; null: they get none. Raises
        RG416.
        """
        self._run(calls.SET_DEFAULT_EMBEDDER, locals())

    def set_ledger(self, is_on: bool) -> int:
        """Switches the ledger on (as it is at first) or off, which is an act in the ledger; when
        it is on, also notes every row of evidence that nobody noted, and returns how many.
        What another transaction wrote while it was off and commits later, the next call
        notes. Raises RG400.
        """
        return self._value(calls.SET_LEDGER, locals())

    def set_quota(
        self,
        role: str,
        blob_bytes: int | None = None,
        hourly_failures: int | None = None,
        concurrent_calls: int | None = None,
        corpus_chunks: int | None = None,
    ) -> None:
        """Sets what a role may take, in place of what was set: bytes of blobs, failures and
        refusals recorded in an hour, transactions that use corpora at once (1 to 1000), and
        chunks of a corpus after it wrote there; null is any. The quota of public is that of
        every role without one of its own. Over a quota calls raise RG470. Raises RG400.
        """
        self._run(calls.SET_QUOTA, locals())

    def share_corpus(
        self, corpus: str, author: bytes | None = None, feed: UUID | str | None = None
    ) -> UUID | None:
        """Shares a corpus with the peers that may read it, and returns its feed: what it is at
        every peer. With a feed it joins that one. The author is the public key (32 bytes)
        that signs the changes that are made here; null leaves it. Raises RG400, RG401, RG404,
        RG409, RG457.
        """
        return self._value(calls.SHARE_CORPUS, locals())

    def shared_feed(self, corpus: str) -> rows.SharedFeedRow:
        """Returns as what feed a corpus is shared, by which key (hex), how many events it has,
        its Lamport time, and the settings that a copy of it needs. Raises RG400, RG404,
        RG491.
        """
        return self._row(calls.SHARED_FEED, rows.SharedFeedRow, locals())

    def similar(
        self,
        corpus: str,
        chunk_id: str,
        k: int = 10,
        min_score: float = 0.0,
        filter: Any = None,
        mode: str | None = None,
    ) -> Rows[rows.Hit]:
        """Returns the k (1 to 1000) chunks of a corpus most like one of its chunks, without that
        one: nearest in meaning (mode semantic) or by the BM25 of the 25 terms that weigh most
        in it (lexical); when mode is left out semantic where the chunk has an embedding.
        Raises RG400, RG401, RG404, RG406, RG410, RG415, RG417.
        """
        return self._rows(calls.SIMILAR, rows.Hit, locals())

    def slice_graph(
        self,
        corpus: str,
        slice_id: str | None = None,
        anchor: str | None = None,
        policy: Any = None,
        refused: int = 100,
    ) -> Rows[rows.SliceGraphRow]:
        """Returns the chunks of a slice (by the id of a stored one, or by anchor and policy) in
        order of selection, then those beside them that it refused, nearest first, at most
        refused (0 to 10000), each with its edges: parents are the ids of shown chunks that
        lead to it, edge_types the type of each edge. reason says why a chunk was refused:
        score (others had a higher priority), budget (max_nodes were taken before), depth
        (past max_radius), policy (a sibling that it does not take), or changed (it would be
        taken now). place and distance count from 1 and 0; priority is null past the radius;
        is_unchanged is whether a member says what it said; text is the first 400 characters.
        Raises RG400, RG404, RG430, RG431, RG434, RG435.
        """
        return self._rows(calls.SLICE_GRAPH, rows.SliceGraphRow, locals())

    def slice_members(self, corpus: str, slice_id: str) -> Rows[rows.SliceMembersRow]:
        """Returns the members of a stored slice in the order in which they were chosen, and
        whether each still says what it said. Raises RG400, RG404, RG435.
        """
        return self._rows(calls.SLICE_MEMBERS, rows.SliceMembersRow, locals())

    def space_questions(self, corpus: str, count: int = 200) -> Rows[rows.SpaceQuestionsRow]:
        """Returns up to count (1 to 10000) questions to compare two embedders of a corpus by:
        those of its evals, else recorded ones of the caller, or of all for an auditor (their
        text must have been kept), else headings and titles. Raises RG400, RG401, RG404.
        """
        return self._rows(calls.SPACE_QUESTIONS, rows.SpaceQuestionsRow, locals())

    def store_checkpoint(self, note: str) -> int:
        """Stores a signed checkpoint of this ledger, adds the signatures that the stored one of
        its size lacks, and returns its size. Raises RG400, RG481, RG482.
        """
        return self._value(calls.STORE_CHECKPOINT, locals())

    def sync_statistics(self, corpus: str) -> rows.SyncStatisticsRow:
        """Sums the chunks, lexemes and df of the parts of a corpus anew, by which they all rank.
        It reads the parts that were written to since the last time, and returns how many
        these were, the chunks of all parts, and how many lexemes changed. Of parts on other
        servers it counts what ragdb.put_part_statistics was given last. Raises RG400, RG401,
        RG404.
        """
        return self._row(calls.SYNC_STATISTICS, rows.SyncStatisticsRow, locals())

    def tool_candidates(
        self,
        tool: str,
        arguments: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
    ) -> Rows[rows.ToolCandidatesRow]:
        """Returns what a reranker has to score for a call of a tool: its name, the query, and
        the chunks found (four times topK, at most 1000) with the passages to give it; nothing
        when the retriever does not declare one. Raises what ragdb.search_tool raises.
        """
        return self._rows(calls.TOOL_CANDIDATES, rows.ToolCandidatesRow, locals())

    def trace_hits(self, trace_id: UUID | str) -> Rows[rows.RetrievalHits]:
        """Returns the hits of one trace, best first, without the text of the chunks. Raises
        RG400, RG407.
        """
        return self._rows(calls.TRACE_HITS, rows.RetrievalHits, locals())

    def trace_reranks(self, trace_id: UUID | str) -> Rows[rows.RetrievalReranks]:
        """Returns what a reranker made of the hits of one trace, best first; none where it was
        not reranked. Raises RG400, RG407.
        """
        return self._rows(calls.TRACE_RERANKS, rows.RetrievalReranks, locals())

    def trace_stages(self, trace_id: UUID | str) -> Rows[rows.TraceStagesRow]:
        """Returns what came of a recorded retrieval within an hour, in order: the stages of the
        search that ran in the database, embed, semantic, lexical and fuse, then the whole
        search (elapsed_ms is how long each took), then rerank, gate and answer (elapsed_ms
        counts from the end of the search), these with what they said in detail. Raises RG400,
        RG407.
        """
        return self._rows(calls.TRACE_STAGES, rows.TraceStagesRow, locals())

    def traffic(
        self, since: datetime, until: datetime | None = None, corpus: str | None = None
    ) -> Rows[rows.TrafficRow]:
        """Returns retrievals by hour of a span of at most seven days, by day (UTC) of a longer
        one, of one corpus or of all that the caller sees in schema bi but system: those that
        found something, found nothing or failed, those under a slice with the admissible and
        the shortfalls among them, the mean score of first hits (0 to 1) and percentiles of
        latency in ms. A time at which nothing was asked is a row of zeros without score and
        latency. As of the last ragdb.refresh_rollups. Raises RG400.
        """
        return self._rows(calls.TRAFFIC, rows.TrafficRow, locals())

    def turn_id(self, corpus: str, session: str, id: str) -> str:
        """Returns the chunk id of a message: its own id when that is a UUID, else the version 5
        UUID of (corpus, session, id), each of at most 500 bytes. Raises RG400.
        """
        return self._value(calls.TURN_ID, locals())

    def unchanged_sources(self, corpus: str, readings: Any) -> Rows[rows.UnchangedSourcesRow]:
        """Returns those of some sources whose documents are what their files would be read as,
        with what was found in the files: they were read so (ragdb.note_readings), have these
        bytes, and have not changed since. A reading is {"uri", "doc_cid", "reading"}, where
        doc_cid is the identity of the bytes of the file; returned is that of its document,
        null where it has several. With has_records the file is not a document but has some,
        at its uri or below it ("chats.json#7"). Where the caller has put the bytes, the
        corpus has them as the original from then on, as when the document is put again.
        Raises RG400, RG401, RG404, RG412.
        """
        return self._rows(calls.UNCHANGED_SOURCES, rows.UnchangedSourcesRow, locals())

    def unrestrict_corpus(self, corpus: str) -> int:
        """Opens a restricted corpus to every reader and writer, removes its grants and returns
        their number. Nothing else opens a corpus. Raises RG400, RG401, RG404.
        """
        return self._value(calls.UNRESTRICT_CORPUS, locals())

    def unshare_corpus(self, corpus: str) -> None:
        """Ends the sharing of a corpus and forgets its signed events and conflicts. Its
        documents stay. Raises RG400, RG401, RG404.
        """
        self._run(calls.UNSHARE_CORPUS, locals())

    def validate_citations(
        self, output: Any, evidence: Any, require_citations: bool = False
    ) -> list[str]:
        """Returns what is wrong with the citations of an output, of our form (source_id,
        chunk_id), Anthropic's or Cohere's: unknown ids, a chunk under another source, and
        missing citations where they are required; nothing for insufficient_evidence: true.
        Raises RG400, RG460.
        """
        return self._value(calls.VALIDATE_CITATIONS, locals())

    @overload
    def validate_contract(self, contract: Any) -> Rows[rows.ValidateContractRow]:
        """Returns everything that is wrong with a contract, {"contract": name, "nodes":
        [{"node", "keys", "children", "line", "column"}]}, in the order of its lines: the
        rule, error or warning, where, what is wrong and what to do. A contract without a row
        of severity error can be applied, unless a right, a role, an embedder of a corpus or
        another contract does not allow it. Raises RG400.
        """

    @overload
    def validate_contract(
        self, contract: str, contract_name: str = "contract"
    ) -> Rows[rows.ValidateContractRow]:
        """Returns everything that is wrong with the text of a contract, in the order of its
        lines, as ragdb.validate_contract does for a contract in JSON. Rows of rule contract-
        syntax (the first 1000) say what cannot be read; as long as there are any, there are
        no others. Raises RG400, RG413.
        """

    def validate_contract(self, *args: Any, **kwargs: Any) -> Rows[rows.ValidateContractRow]:
        """validate_contract(contract)

        Returns everything that is wrong with a contract, {"contract": name, "nodes":
        [{"node", "keys", "children", "line", "column"}]}, in the order of its lines: the
        rule, error or warning, where, what is wrong and what to do. A contract without a row
        of severity error can be applied, unless a right, a role, an embedder of a corpus or
        another contract does not allow it. Raises RG400.

        validate_contract(contract, contract_name='contract')

        Returns everything that is wrong with the text of a contract, in the order of its
        lines, as ragdb.validate_contract does for a contract in JSON. Rows of rule contract-
        syntax (the first 1000) say what cannot be read; as long as there are any, there are
        no others. Raises RG400, RG413.
        """
        call, given = choose((calls.VALIDATE_CONTRACT_1, calls.VALIDATE_CONTRACT_2), args, kwargs)
        return self._rows(call, rows.ValidateContractRow, given)

    def validate_query_plan(self, plan: Any) -> list[str]:
        """Returns what is wrong with a plan that a model made in place of ragdb.rag_query_plan:
        needs_retrieval is a boolean, queries are 1 to 16 texts of at most 10000 characters
        where it is true, reason is a text; nothing for a sound one.
        """
        return self._value(calls.VALIDATE_QUERY_PLAN, locals())

    def verification_checks(self) -> Rows[rows.VerificationChecksRow]:
        """Lists the checks of ragdb.verify in their order, and which of them are quick."""
        return self._rows(calls.VERIFICATION_CHECKS, rows.VerificationChecksRow, locals())

    def verify(
        self, quick: bool = False, checks: Sequence[str] | None = None
    ) -> Rows[rows.Finding]:
        """Verifies all evidence and what guards it: code, triggers, rights, keys, corpora,
        pgvector, policies, documents, chunks, blobs, slices, traces, hits, reranks, atoms,
        proposals, decisions, incidents, erasures, the ledger, history, static embedders,
        their embeddings, contracts, recorded states, edges, which originals there are, turns
        and what peers signed, or some of them; quick leaves out those that read all rows. No
        row means that nothing is wrong. Raises RG400.
        """
        return self._rows(calls.VERIFY, rows.Finding, locals())

    def verify_atom(self, atom_id: UUID | str) -> Rows[rows.VerifyAtomRow]:
        """Recomputes the hashes of an atom. Subject record: from its row, atom_hash (every
        column but the text), atom_mac and text_hash, which a redacted text cannot break;
        is_intact false where the row was edited or its signature is wrong, and null where the
        key that signed is not at hand. Subject evidence: trace_id, whether the retrieval is
        still there, and evidence, from the texts of its chunks; is_intact false where one is
        gone or says something else, whoever changed it. Raises RG407.
        """
        return self._rows(calls.VERIFY_ATOM, rows.VerifyAtomRow, locals())

    def verify_ledger(
        self, from_number: int = 0, most: int | None = None, late: timedelta | str = "1 day"
    ) -> Rows[rows.VerifyLedgerRow]:
        """Compares the entries of the ledger from a number on, most of them or all, with the
        tree and with the rows of evidence as they are now, and returns what is wrong, nothing
        where all is right; the call that reaches the end also looks for rows that are not in
        the ledger, hits without a trace, and stored checkpoints that differ. A row older than
        late when it was sealed counts as back-dated. Raises RG400.
        """
        return self._rows(calls.VERIFY_LEDGER, rows.VerifyLedgerRow, locals())

    def verify_step(
        self,
        state: Any = None,
        most: int = 4000,
        quick: bool = False,
        checks: Sequence[str] | None = None,
    ) -> rows.VerifyStepRow:
        """Does one step of ragdb.verify, of most rows (1 to 100000), and returns what it found
        and the state that the next step is given; null after the last. Raises RG400.
        """
        return self._row(calls.VERIFY_STEP, rows.VerifyStepRow, locals())

    def verify_token(
        self,
        corpus: str,
        token: str,
        slice_id: str,
        anchor_chunk_id: str,
        policy_id: str,
        params_hash: str,
        graph_snapshot_hash: str,
        schema_version: str,
        chunk_ids: Sequence[str] | None = None,
        edge_count: int | None = None,
    ) -> rows.VerifyTokenRow:
        """Tells whether a token was signed here for exactly these fields, has not ended, and
        whether the slice recomputed from the rows (the given members, the stored slice, or a
        new build) is the one signed and has edge_count edges (null: any number); reason says
        why not. Raises RG400, RG404.
        """
        return self._row(calls.VERIFY_TOKEN, rows.VerifyTokenRow, locals())

    def verify_trace(self, trace_id: UUID | str) -> Rows[rows.VerifyTraceRow]:
        """Recomputes the hashes of a trace. Subject record: from its rows, one row for
        trace_hash (every column and hit), result_hash, limit_returned, query_hash and
        trace_mac, and of its reranking where it has one, rerank_hash and rerank_mac;
        is_intact is false where a row was edited, added or removed since, or a signature is
        missing, wrong or of a key that is reported compromised, and null where the key that
        signed is not at hand; recomputed says which. Subject evidence: one row, evidence,
        from the texts of its chunks; is_intact false where a hit is gone or says something
        else, whoever changed it. Raises RG400, RG407.
        """
        return self._rows(calls.VERIFY_TRACE, rows.VerifyTraceRow, locals())

    def version_at(self, corpus: str, at: datetime) -> int:
        """Returns the version of a corpus that was the present one at a time; a version begins
        when its transaction takes the corpus. Raises RG400, RG404, RG437.
        """
        return self._value(calls.VERSION_AT, locals())

    def why_not(self, trace_id: UUID | str, chunk_id: str) -> rows.WhyNotRow:
        """Says at which step of a recorded retrieval a chunk fell out: corpus, slice, filter,
        ranking, min_score, per_document, collapse, diversity, limit or rerank; or that it was
        a hit; or unknown. A corpus that keeps its history is asked as it was then, and the
        reason names the version. Raises RG400, RG404, RG407.
        """
        return self._row(calls.WHY_NOT, rows.WhyNotRow, locals())

    def withdraw_contract(self, contract: str) -> None:
        """Takes a contract out of force: its retrievers, rags, tools and cases go, and their
        names are free. Its versions, runs, corpora, grants and embedders stay;
        ragdb.apply_contract puts it in force again. Raises RG401, RG441.
        """
        self._run(calls.WITHDRAW_CONTRACT, locals())

    def write_contract(self, contract: Any) -> str:
        """Returns a contract in the line syntax, from which ragdb.parse_contract reads the same
        nodes and keys, a number of more than 18 digits or 15 decimals as a text. Raises
        RG440.
        """
        return self._value(calls.WRITE_CONTRACT, locals())

    def xxh64(self, data: bytes) -> str:
        """Returns xxHash64 (seed 0) as 16 hex digits; a fingerprint that names things and proves
        nothing.
        """
        return self._value(calls.XXH64, locals())
