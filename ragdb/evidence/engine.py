"""The engine that answers from evidence: plan, retrieve, pack, weigh, run, verify, repair.

Order and failures are those of the four RAG modes. Everything that is decided is decided by
functions of the database; a model, where one is used, only proposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ragdb.evidence.answers import Answer, InferencePlanner, Planner, PolicyOverrides, Task, Told
from ragdb.evidence.retrieval import RetrievedChunk, Retriever
from ragdb.evidence.steps import Run
from ragdb.evidence.tasks import MAX_ATTEMPTS, ContractError, RagPolicy, TaskContract, mismatches

if TYPE_CHECKING:
    from typing import Unpack

    from ragdb.client.client import Client


class Engine:
    """Runs a task over evidence: validate, plan, retrieve, pack, weigh, run, verify, repair.

    `task` is given {"question", "evidence"?, "problems"? (of the attempt before)} and returns an
    output or its JSON: any callable, such as `ragdb.models.chat.OpenAIModel`. Without one the
    answer is `ragdb.answer_from_evidence`, in at most `sentences` sentences. `planner`, or its
    `plan`, is given the question and returns a plan in place of `ragdb.rag_query_plan`. A
    `contract` brings policy, schemas, verifiers and the number of attempts.

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
        corpus_id: str | None = None,
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
        self.contract = contract
        self.policy = policy or (contract.policy if contract else RagPolicy())
        self.accepts_evidence = contract.supports_rag if contract else accepts_evidence
        self.corpus_id, self.max_attempts = corpus_id, attempts
        self.sentences, self.client = sentences, client
        self.told = told or (lambda stage, what: None)

    def run(
        self,
        question: str,
        evidence: Sequence[RetrievedChunk] = (),
        **overrides: Unpack[PolicyOverrides],
    ) -> Answer:
        """Answer a question. `evidence` is the caller's; `overrides` are fields of the policy.

        Raises RagError where the mode `required` cannot be met; ValueError for an empty question or
        one that is not an input of the contract, and for evidence that it does not accept.
        """
        policy = self._policy(overrides, bool(evidence))
        if not question.strip():
            raise ValueError("question is empty")
        if evidence and not self.accepts_evidence:
            raise ValueError("the task contract does not accept evidence")
        self._check_input({"question": question})
        return Run(self, question, policy).run(tuple(evidence))

    def _policy(self, overrides: PolicyOverrides, has_evidence: bool) -> RagPolicy:
        policy = replace(self.policy, **overrides)
        if self.contract is None or not self.contract.requires_rag or policy.mode == "required":
            return policy
        if policy.mode == "off":
            if not has_evidence:
                raise ValueError("the task contract requires evidence, but there is none")
            return policy
        return replace(policy, mode="required")

    def _check_input(self, given: dict[str, Any]) -> None:
        if self.contract is None or self.contract.input_schema is None:
            return
        if wrong := mismatches(self.contract.input_schema, given):
            raise ContractError(*(f"input {problem}" for problem in wrong))
