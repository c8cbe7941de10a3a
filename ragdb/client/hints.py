"""The hints of the database in the words of a door, where nobody calls a function of SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping

# what a user of the command line calls for a function
VERBS = {
    name: f"`ragdb {verb}`"
    for name, verb in {
        "add_peer": "peer add",
        "apply_contract": "apply",
        "bind_embedder": "embedder bind",
        "bless_run": "eval bless",
        "build_evidence_pack": "pack",
        "build_slice": "slice build",
        "cluster_init": "cluster init",
        "cluster_status": "cluster status",
        "corpus_info": "corpus show",
        "create_corpus": "corpus create",
        "create_embedder": "embedder bind",
        "create_signing_key": "keys create",
        "delete_source": "corpus delete",
        "diff_corpus": "corpus diff",
        "drop_corpus": "corpus drop",
        "erase_source": "corpus erase",
        "erase_speaker": "corpus erase-speaker",
        "eval_report": "eval report",
        "export_contract": "contract export",
        "export_signing_keys": "keys export",
        "export_slice": "slice build --store",
        "facets": "search --facets FIELD",
        "grant_corpus": "corpus grant",
        "keep_history": "corpus history --keep DAYS",
        "list_contracts": "contract ls",
        "list_corpora": "corpus ls",
        "list_documents": "corpus documents",
        "list_embedders": "embedder ls",
        "list_eval_runs": "eval ls",
        "list_feedback": "feedback ls",
        "list_grants": "corpus grants",
        "list_http_tokens": "token ls",
        "list_key_events": "keys events",
        "list_parts": "corpus parts",
        "list_peer_corpora": "peer status",
        "list_peers": "peer ls",
        "list_policies": "policy ls",
        "list_quotas": "quota ls",
        "list_rerankers": "reranker ls",
        "list_signing_keys": "keys ls",
        "list_synonyms": "corpus synonyms",
        "list_traces": "trace ls",
        "list_versions": "corpus history",
        "maintain": "maintain",
        "record_reads": "corpus reads",
        "reembed_corpus": "reembed",
        "register_policy": "policy add",
        "remove_synonyms": "corpus synonyms --remove WORD",
        "repair_corpus": "repair",
        "restrict_corpus": "corpus restrict",
        "retrieve_slice": "slice search",
        "revoke_corpus": "corpus revoke",
        "seal_ledger": "ledger seal",
        "set_quota": "quota set",
        "search": "search --json",  # which has the ids of chunks
        "share_corpus": "peer share",
        "trace_hits": "trace show",
        "validate_contract": "check",
        "verify_ledger": "ledger verify",
        "withdraw_contract": "contract withdraw",
    }.items()
}


def spoken(text: str, names: Mapping[str, str], argument: str = r"\1 \2") -> str:
    """A text of the database with a door's names for functions, such as `ragdb.list_corpora()`.

    `argument` is what the door has for mode => 'lexical'. A function without a name stays.
    """
    text = re.sub(r"\b(mode|syntax) => '([a-z]+)'", argument, text)
    return re.sub(r"\bragdb\.([a-z_]+)\(\)", lambda found: names.get(found[1], found[0]), text)


def by_verbs(text: str | None) -> str | None:
    """A hint for people at a command line: `ragdb corpus ls`, and --mode lexical.

    What no verb calls is said to be SQL, and where that is written.
    """
    if text is None:
        return None
    text = spoken(text.replace("sign => false", "--no-sign"), VERBS, r"--\1 \2")
    return re.sub(r"\b(ragdb\.[a-z_]+\(\))", r"\1 in `ragdb psql`", text, count=1)
