"""How much of a list `ragdb ask` quotes to who asks for it.

The shared manuals (Markdown) are read as `ragdb ingest` reads them. Each question has an item of
the list that answers it, which is found in the files with the lines around it. Counted: the share
of its items that the citations quote, and that one chunk of the evidence has.

    python -m bench.evidence.lists
"""

from __future__ import annotations

import re
from statistics import mean

import psycopg

from bench.common import DATA, parser, publish, server
from ragdb.database import Database
from ragdb.server import static

ITEM = re.compile(r"(?:[-*+]|[0-9]{1,3}[.)]) ")
# questions, and what an item of the list that answers them begins with
ASKED = (
    ("What are the common attacks on GraphQL?", "Abuse of broken authorization: either"),
    (
        "Which events should a code review of security monitoring look for?",
        "**Audit trails**: Complete audit",
    ),
    (
        "How should audit logs of a REST service be written?",
        "Take care of log injection attacks by sanitizing",
    ),
    (
        "How do I isolate tenants in logging, monitoring and audit?",
        "Implement tenant-isolated audit trails.",
    ),
    (
        "Which attack vectors does retrieved content open in RAG?",
        "Multiple retrieved chunks collectively form an adver",
    ),
    (
        "What are the challenges of managing secrets in several clouds?",
        "**Inconsistent Security Policies**: Different cloud",
    ),
    (
        "What are the best practices for configuring a source control management system?",
        "Require commits to be signed",
    ),
    ("What must the documentation of secrets include?", "Whom to alert when a secret is detected."),
    (
        "How do I monitor for dangling DNS records?",
        "**Track DNS zone changes.** Use version-controlled",
    ),
    ("What are private subnets great for?", "Backend servers and associated file systems."),
    ("List the key metrics to monitor in gRPC", "Authentication and authorization failure rates"),
    (
        "What characteristics define a strong password?",
        "Ensure credential rotation when a password leak occu",
    ),
    (
        "Which steps should be taken to prevent unencrypted traffic to a database?",
        "Install a trusted digital certificate on the server.",
    ),
    (
        "What must a password comparison function do?",
        "Explicitly sets the type of both variables, to prote",
    ),
    ("What did Tom Christie create?", "Starlette (on which **FastAPI** is based)"),
    ("Which functions do the request parameters of FastAPI include?", "`Query()`"),
    (
        "List libraries that validate domain names without DNS resolution",
        "**JavaScript**: Library [is-valid-domain]",
    ),
    (
        "What are the steps to request translations for a new language in FastAPI?",
        "Create a new discussion following the template.",
    ),
    (
        "What controls are there in addition to output encoding against XSS?",
        "Trusted Types - On Chromium-based browsers",
    ),
    (
        "Which recommendations are there for MFA?",
        "Require MFA for administrative or other high privile",
    ),
    (
        "List the external API authentication methods for Kubernetes",
        "Managed Kubernetes distributions such as GKE, EKS an",
    ),
    (
        "Which controls reduce the risk from marketing JavaScript?",
        "Technical controls for malicious JavaScript identifi",
    ),
    ("What are the costs for parallel PBKDF2?", "PPBKDF2-SHA256: cost 5"),
    ("What are real-world examples of attacks on AI models?", "Leaked API Keys on GitHub: OpenAI"),
    ("How should embeddings be protected?", "Encrypt embeddings at rest."),
    (
        "What should a code review of cryptography check?",
        "**Certificate validation**: Proper validation includ",
    ),
    (
        "Which tools detect insecure deserialization?",
        "[Java De-serialization toolkits](https://github.com/",
    ),
    (
        "What are the limitations of X-Frame-Options?",
        "**Problems with multi-domain sites**: The current im",
    ),
    ("List the rules for input validation in REST", "Constrain string inputs with regexps."),
    (
        "When should a baseline security review be done?",
        "**Compliance Cycles**: Periodic comprehensive review",
    ),
    ("What should OTP implementations do at a minimum?", "Ensure OTPs are single use"),
    ("When does a data race happen?", "At least one of the pointers is being used to write"),
    (
        "Which protections does every device need in zero trust?",
        "**Remote wipe**: Ability to erase lost or stolen dev",
    ),
    (
        "What are the minimum policy items for an SBOM?",
        "**SLA for vulnerability response** based on severity",
    ),
    (
        "Which secrets management solutions are there?",
        "[HashiCorp Vault](https://www.vaultproject.io/)",
    ),
    (
        "What needs to be defined for a bug bounty program?",
        "Legal provisions such as safe harbor policies.",
    ),
    (
        "Which answers to security questions should be on a denylist?",
        "The user's current password.",
    ),
    (
        "What are the ways to get secrets into a Docker container?",
        "Environment variables: We can provide secrets direct",
    ),
    (
        "Which methods should not be populated with untrusted data?",
        '`element.outerHTML = "...";`',
    ),
    (
        "What does a middleware do with a request in FastAPI?",
        "Then it passes the **request** to be processed by th",
    ),
    (
        "List the steps to configure CORS in FastAPI",
        "Create a list of allowed origins (as strings).",
    ),
    (
        "Which limits protect a network against denial of service?",
        "**Define an absolute connection timeout**",
    ),
    (
        "What are the steps to build a container image for FastAPI?",
        "Set the current working directory to `/code`.",
    ),
    ("Which client hints headers does a browser send about itself?", "sec-ch-ua-bitness"),
)


def items(texts: list[str], begins: str) -> list[str]:
    """What the items of the longest list begin with that has one which so begins."""
    found = []
    for text in texts:
        place = re.search(r"(?m)^(?:[-*+]|[0-9]+\.) (?:\[ \] )?" + re.escape(begins), text)
        # a list ends before a line that is neither an item nor indented
        for block in re.split(r"(?m)^(?=\S)(?![-*+] |[0-9]{1,3}[.)] )", text) if place else ():
            lines = [line for line in block.splitlines() if ITEM.match(line)]
            if any(begins in line for line in lines):
                found.append([ITEM.sub("", line, count=1)[:40].strip() for line in lines])
    return max(found, key=len)


def main() -> None:
    given = parser(__doc__).parse_args()
    files = sorted((DATA / "docs").rglob("*.md"))
    texts = [path.read_text("utf-8") for path in files]
    table = []
    with server() as own, psycopg.connect(own.database(), autocommit=True) as connection:
        static.load(Database(connection))
        db = Database(connection)
        db.ingest(DATA / "docs", corpus="docs")
        for mode in ("lexical", "hybrid"):
            quoted, there, letters = [], [], []
            for question, begins in ASKED:
                listed = items(texts, begins)
                answer = db.ask("docs", question, rank_mode=mode)
                said = "\n".join(cited["quote"] for cited in answer.citations)
                chunks = [c.chunk.text for c in answer.pack.chunks] if answer.pack else []
                quoted.append(mean(item in said for item in listed))
                there.append(max((mean(i in text for i in listed) for text in chunks), default=0))
                letters.append(len(said))
            cells = (
                mode,
                str(len(ASKED)),
                f"{mean(there):.3f}",
                f"{mean(quoted):.3f}",
                f"{quoted.count(1)}, {quoted.count(0)}",
                f"{mean(letters):.0f}, {max(letters)}",
            )
            table.append(f"| {' | '.join(cells)} |")
            print(table[-1], flush=True)
    publish(
        given.results,
        "Questions for a list",
        f"{len(ASKED)} questions whose answer is a list of the shared manuals.",
        [
            "| mode | questions | items in one chunk of the evidence | items quoted | all, none"
            " | characters: mean, most |",
            "|---|---|---|---|---|---|",
            *table,
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
