"""How long it takes to read, check and apply the text of a contract in the database.

The contract of the examples, so many times under other names. Its twin is the reader in Python that
the tests compare with; nothing of it is installed. Each is the best of some rounds, in time of the
processor, because the clock tells what else the machine does.

    python -m bench.contracts.run [--copies 1,10,100,500] [--rounds 5]
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg

from bench.common import ROOT, parser, processor, publish, server
from tests import contract_twin

EXAMPLE = (ROOT / "examples/contract/support.kern").read_text()
NAMES = ("Docs", "DocsEmbedding", "DocsSearch", "AnswerDocs", "Faithfulness", "RefundAnswer")


def copies(count: int) -> str:
    """The example so many times, each with names of its own."""
    return "\n".join(
        re.sub(
            rf"\b(name|corpus|embed|retriever|rag)=({'|'.join(NAMES)})\b", rf"\1=\g<2>{n}", EXAMPLE
        )
        for n in range(count)
    )


def best(rounds: int, work: Callable[[], Any], clock: Callable[[], float]) -> float:
    """What the round took that took least, by the clock."""
    found = []
    for _ in range(rounds):
        began = clock()
        work()
        found.append(clock() - began)
    return min(found)


def own_processor() -> float:
    """Milliseconds that this process has had of the processor."""
    return 1000 * time.process_time()


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--copies", default="1,10,100,500")
    flags.add_argument("--rounds", type=int, default=5)
    given = flags.parse_args()
    lines = [
        "| lines | characters | parse ms | a line, µs | validate ms | apply ms | the twin ms |",
        "|---|---|---|---|---|---|---|",
    ]
    with server() as own, psycopg.connect(own.database(), autocommit=True) as db:
        db.execute("select ragdb.maintain()")  # the partitions of this month, made once

        def call(name: str, text: str) -> None:
            with db.transaction(force_rollback=True):
                db.execute(f"select * from ragdb.{name}(%s, 'bench')".encode(), (text,)).fetchall()

        for count in map(int, given.copies.split(",")):
            text = copies(count)
            size = text.count("\n") + 1
            took = [
                best(given.rounds, partial(call, name, text), lambda: processor(db))
                for name in ("parse_contract", "validate_contract", "apply_contract")
            ]
            twin = best(given.rounds, partial(contract_twin.parse, text), own_processor)
            cells = [
                f"{size:,}",
                f"{len(text):,}",
                f"{took[0]:.1f}",
                f"{1000 * took[0] / size:.0f}",
            ]
            cells += [f"{took[1]:.1f}", f"{took[2]:.1f}", f"{twin:.1f}"]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    publish(
        given.results,
        "Contracts",
        f"the contract of the examples, best of {given.rounds}, time of the processor.",
        lines,
        own.version,
    )


if __name__ == "__main__":
    main()
