"""Hints of the database, with verbs and flags for the functions and arguments that they name."""

from __future__ import annotations

import re

VERBS = {
    "bind_embedder": "embedder bind",
    "create_corpus": "corpus create",
    "create_signing_key": "keys create",
    "drop_corpus": "corpus drop",
    "export_signing_keys": "keys export",
    "facets": "search --facets FIELD",
    "grant_corpus": "corpus grant",
    "list_contracts": "contract ls",
    "list_corpora": "corpus ls",
    "list_embedders": "embedder ls",
    "list_eval_runs": "eval ls",
    "list_http_tokens": "token ls",
    "list_key_events": "keys events",
    "list_parts": "corpus parts",
    "list_peers": "peer ls",
    "list_policies": "policy ls",
    "list_quotas": "quota ls",
    "list_rerankers": "reranker ls",
    "list_signing_keys": "keys ls",
    "list_traces": "trace ls",
    "reembed_corpus": "reembed",
    "register_policy": "policy add",
    "revoke_corpus": "corpus revoke",
    "share_corpus": "peer share",
    "validate_contract": "check",
}


def spoken(text: str | None) -> str | None:
    """A hint for people at a command line.

    It has `ragdb corpus ls` for ragdb.list_corpora(), and --mode lexical for mode => 'lexical'.
    """
    if text is None:
        return None
    text = re.sub(r"\b(mode|syntax) => '([a-z]+)'", r"--\1 \2", text)
    return re.sub(r"ragdb\.([a-z_]+)\(\)", _verb, text)


def _verb(found: re.Match[str]) -> str:
    verb = VERBS.get(found[1])
    return f"`ragdb {verb}`" if verb else found[0]
