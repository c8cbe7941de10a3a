"""The engine that answers from evidence by models: the steps are functions of the database.

`ragdb.ask` takes the same steps without a model. Here a model may plan, find, order or write; what
it proposes is decided on by `ragdb.ask_plan`, `ragdb.ask_weigh` and `ragdb.ask_verify`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from ragdb.evidence.answers import (
    Answer,
    InferencePlanner,
    Planner,
    PolicyOverrides,
    RagError,
    Task,
    Told,
)
from ragdb.evidence.outputs import ask, name_of, used
from ragdb.evidence.packs import EvidencePack, build_evidence_pack, given_pack
from ragdb.evidence.retrieval import RetrievalQuery, RetrievedChunk, Retriever
from ragdb.evidence.tasks import MAX_ATTEMPTS, ContractError, RagPolicy, TaskContract, mismatches

if TYPE_CHECKING:
    from typing import Unpack

    from ragdb.client.client import Client

Run = dict[str, Any]


class Engine:
    """Runs a task over evidence: validate, plan, retrieve, pack, weigh, run, verify, repair.

    `task` is given {"question", "evidence"?, "problems"? (of the attempt before)} and returns an
    output or its JSON: any callable, such as `ragdb.models.chat.OpenAIModel`. Without one the
    answer is `ragdb.answer_from_evidence`, in at most `sentences` sentences. `planner`, or its
    `plan`, is given the question and returns a plan in place of `ragdb.rag_query_plan`. A
    `contract` brings policy, schemas, verifiers and the number of attempts; without one `name` is
    what answers are recorded under.

    `told` hears of each stage when it is over: plan, evidence, gate and attempt, with what came of
    it. What it raises ends the run.

    Evidence that a recorded retrieval found is weighed and answered on record
    (`ragdb.record_gate`, `ragdb.record_answer`).
    """

    def __init__(
        self,
        db: Client,
        *,
        retriever: Retriever | None = None,
        policy: RagPolicy | None = None,
        task: Task | None = None,
        planner: Planner | InferencePlanner | None = None,
        contract: TaskContract | None = None,
        name: str | None = None,
        accepts_evidence: bool = True,
        max_attempts: int | None = None,
        sentences: int = 2,
        client: str | None = None,
        told: Told | None = None,
    ) -> None:
        attempts = max_attempts or (contract.max_attempts if contract else 2)
        if not 1 <= attempts <= MAX_ATTEMPTS or max_attempts == 0:
            raise ValueError(f"max_attempts is {max_attempts}, not 1 to {MAX_ATTEMPTS}")
        self.db, self.retriever, self.task, self.planner = db, retriever, task, planner
        self.contract, self.name = contract, name
        self.policy = policy or (contract.policy if contract else RagPolicy())
        self.accepts_evidence = contract.supports_rag if contract else accepts_evidence
        self.max_attempts, self.sentences, self.client = attempts, sentences, client
        self.told = told or (lambda stage, what: None)

    def run(
        self,
        question: str,
        evidence: Sequence[RetrievedChunk] = (),
        **overrides: Unpack[PolicyOverrides],
    ) -> Answer:
        """Answer a question. `evidence` is the caller's; `overrides` are fields of the policy.

        Raises RagError where the mode `required` cannot be met; ContractError for what is not an
        input of the contract; and what `ragdb.ask_plan` and `ragdb.ask_weigh` raise.
        """
        policy = replace(self.policy, **overrides)
        self._check_given(question, evidence, policy)
        run = self._planned(question, self._as_json(policy), bool(evidence))
        found = self._found(run)
        chunks = [*evidence, *(chunk for _, result in found for chunk in result)]
        results = [
            {"trace_id": trace, "chunks": [chunk.as_json() for chunk in result]}
            for trace, result in found
        ]
        run = self.db.ask_weigh(run, results, [chunk.as_json() for chunk in evidence])
        pack = given_pack(run["pack"], chunks) if "pack" in run else None
        given: dict[str, Any] = {"question": question}
        if pack is not None:
            given = pack.as_input(question)
            self.told("evidence", {"hash": pack.hash, "chunks": run["pack"]["chunks"]})
            if "gate" in run:
                self.told("gate", run["gate"])
            if run.get("status") != "failed":
                self._check_input(given)
        if "status" not in run:
            run = self._attempted(run, given)
        return self._ended(run, pack)

    def _as_json(self, policy: RagPolicy) -> dict[str, Any]:
        contract, gate = self.contract, policy.gate
        return {
            "mode": policy.mode,
            "k": policy.top_k,
            "require_citations": policy.require_citations,
            "checks_citations": contract is None or "rag.citations" in contract.verifier_ids,
            "max_context": policy.max_context,
            "unit": policy.unit,
            "gate": asdict(gate) if gate else None,
            "accepts_evidence": self.accepts_evidence,
            "requires_evidence": contract is not None and contract.requires_rag,
            "has_retriever": self.retriever is not None,
            "corpus": getattr(self.retriever, "corpus", None),
            "task": contract.task_id if contract else self.name,
            "version": contract.version if contract else None,
            "model": name_of(self.task),
            "client": self.client,
        }

    def _check_given(
        self, question: str, evidence: Sequence[RetrievedChunk], policy: RagPolicy
    ) -> None:
        """Check what the caller gives before anything is looked up: the task may require both."""
        if self.contract is None or self.contract.input_schema is None:
            return
        given: dict[str, Any] = {"question": question}
        if evidence:
            try:
                pack = build_evidence_pack(
                    evidence, "context", max_context=policy.max_context, unit=policy.unit
                )
            except ValueError:  # too small a max_context, which the database refuses
                return
            given = pack.as_input(question)
        self._check_input(given)

    def _check_input(self, given: dict[str, Any]) -> None:
        if self.contract is None or self.contract.input_schema is None:
            return
        if wrong := mismatches(self.contract.input_schema, given):
            raise ContractError(*(f"input {problem}" for problem in wrong))

    def _planned(self, question: str, policy: dict[str, Any], has_evidence: bool) -> Run:
        run: Run = self.db.ask_plan(question, policy, has_evidence)
        if "plan" in run and self.planner is not None:
            planner: Any = self.planner
            plan, problem = ask(getattr(planner, "plan", planner), question)
            run = self.db.ask_plan(question, policy, has_evidence, plan, problem)
        if "plan" in run:
            self.told("plan", run["plan"])
        if run.get("status") == "failed":
            self._ended(run, None)
        return run

    def _found(self, run: Run) -> list[tuple[str | None, tuple[RetrievedChunk, ...]]]:
        """What was found for each query, with the trace of its retrieval."""
        found = []
        for query in run.get("queries", ()):
            assert self.retriever is not None
            chunks = self.retriever.retrieve(RetrievalQuery(query, run["depth"]))
            trace = getattr(self.retriever, "trace_id", None)
            found.append((str(trace) if trace else None, chunks))
        return found

    def _attempted(self, run: Run, given: dict[str, Any]) -> Run:
        """The run with an output that holds, or with the last one that does not."""
        problems: list[str] = []
        for attempt in range(1, 2 if self.task is None else self.max_attempts + 1):
            asked = {**given, "problems": problems} if problems else dict(given)
            began = time.perf_counter()
            made, problem = self._made(run, asked)
            elapsed = 1000 * (time.perf_counter() - began)
            tokens = {} if self.task is None else used(self.task)
            wrong = None if made is None else self._schema_problems(made)
            run = self.db.ask_verify(
                run, made, problem, wrong, attempt=attempt, elapsed_ms=elapsed, **tokens
            )
            problems = run["problems"]
            self.told("attempt", {"attempt": attempt, "problems": problems})
            if not problems:
                break
        return run

    def _made(self, run: Run, asked: dict[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
        if self.task is not None:
            return ask(self.task, asked)
        pack = run.get("pack", {"chunks": []})
        made = self.db.answer_from_evidence(
            run["question"], pack, self.sentences, gate=run.get("gate")
        )
        return made, None

    def _schema_problems(self, output: dict[str, Any]) -> list[str] | None:
        if self.contract is None or self.contract.output_schema is None:
            return None
        return [f"output {place}" for place in mismatches(self.contract.output_schema, output)]

    def _ended(self, run: Run, pack: EvidencePack | None) -> Answer:
        answer = Answer(
            run.get("output", {}),
            pack,
            tuple(run.get("problems", ())),
            run["summary"],
            run.get("gate"),
            run["status"],
            run["reason"],
        )
        if answer.status == "failed":
            raise RagError(answer)
        return answer
