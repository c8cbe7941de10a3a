"""Slices: what a policy admitted around an anchor, what it refused and why, under any policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from psycopg.types.json import Jsonb
from pydantic import Field
from starlette.responses import HTMLResponse, Response

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient
from ragdb.http.transactions import Refused
from ragdb.studio import sessions
from ragdb.studio.drawing import draw
from ragdb.studio.pages import Blank, Studio, address

Size = Annotated[Annotated[int, Field(ge=1, le=10000)] | None, Blank]
Steps = Annotated[Annotated[int, Field(ge=0, le=10000)] | None, Blank]
Share = Annotated[Annotated[float, Field(ge=0, le=1)] | None, Blank]
PHASES = ("synthesis", "planning", "consolidation", "debugging", "exploration")
# a drawing of more has no room for them
DRAWN = 400
PAGE = 50


def changed_policy(
    max_nodes: Size = None,
    max_radius: Steps = None,
    salience_weight: Share = None,
    distance_decay: Share = None,
    include_siblings: Annotated[bool | None, Blank] = None,
    max_siblings_per_node: Steps = None,
    synthesis: Share = None,
    planning: Share = None,
    consolidation: Share = None,
    debugging: Share = None,
    exploration: Share = None,
) -> dict[str, Any]:
    """The fields of a policy that a form has filled in."""
    given: dict[str, Any] = {
        "max_nodes": max_nodes,
        "max_radius": max_radius,
        "salience_weight": salience_weight,
        "distance_decay": distance_decay,
        "include_siblings": include_siblings,
        "max_siblings_per_node": max_siblings_per_node,
    }
    weights = dict(
        zip(PHASES, (synthesis, planning, consolidation, debugging, exploration), strict=True)
    )
    changed = {name: value for name, value in given.items() if value is not None}
    phases = {name: value for name, value in weights.items() if value is not None}
    return changed | ({"phase_weights": phases} if phases else {})


def register(router: APIRouter, studio: Studio) -> None:
    @router.get("/slices")
    async def slices(
        request: Request,
        corpus: str | None = None,
        before: Annotated[str | None, Query(max_length=512), Blank] = None,
        anchor: Annotated[str | None, Query(max_length=512), Blank] = None,
    ) -> Response:
        async with studio.transaction(request) as db:
            corpora, chosen = await studio.corpora(db, corpus, of_parts=False)
            if anchor is not None and chosen is not None:
                asked = address("/slices/graph", corpus=chosen, anchor=anchor.strip())
                return sessions.lead(request, asked)
            listed: list[rows.ListSlicesRow] = []
            if chosen is not None:
                listed = list(await db.list_slices(chosen, None, PAGE + 1, before))
        return studio.page(
            request,
            "slices.html",
            corpora=corpora,
            corpus=chosen,
            slices=listed[:PAGE],
            is_first=before is None,
            older=listed[PAGE - 1].slice_id if len(listed) > PAGE else None,
        )

    @router.get("/slices/graph")
    async def graph(
        request: Request,
        corpus: str,
        changed: Annotated[dict[str, Any], Depends(changed_policy)],
        slice: Annotated[str | None, Blank] = None,
        anchor: Annotated[str | None, Query(max_length=512), Blank] = None,
        refused: Annotated[int, Query(ge=0, le=1000)] = 60,
        token: Annotated[str | None, Query(max_length=512), Blank] = None,
    ) -> HTMLResponse:
        async with studio.transaction(request) as db:
            studio.server.served(corpus)
            recorded = None
            if slice is not None:
                slice = await db.find_slice(corpus, slice)
                recorded = await db.get_slice(corpus, slice)
                anchor = recorded.anchor_chunk_id
            elif anchor is None:
                raise Refused(400, "BAD_REQUEST", "a slice is named by its id or by its anchor")
            else:
                anchor = await db.find_chunk(corpus, anchor)
            checked = None
            if token is not None and recorded is not None and slice is not None:
                checked = await _checked(db, corpus, token.strip(), slice, recorded)
            base = await _policy(db, recorded)
            policy = _merged(base, changed)
            nodes: list[rows.SliceGraphRow]
            is_changed = policy != base
            if recorded is not None and not is_changed:
                before = recorded.chunk_ids
                nodes = await db.slice_graph(corpus, slice, refused=refused)
            else:
                built = await db.build_slice(corpus, anchor, Jsonb(base), False)
                before = recorded.chunk_ids if recorded else built.chunk_ids
                nodes = await db.slice_graph(corpus, None, anchor, Jsonb(policy), refused)
                if is_changed:
                    nodes = _with(nodes, await db.slice_graph(corpus, None, anchor, Jsonb(base), 0))
        admitted = {node.chunk_id for node in nodes if node.is_admitted}
        changes = dict.fromkeys(admitted - set(before), "entered")
        changes |= dict.fromkeys(set(before) - admitted, "left")
        return studio.page(
            request,
            "slice.html",
            corpus=corpus,
            anchor=anchor,
            recorded=recorded,
            slice_id=slice,
            checked=checked,
            policy=policy,
            base=base,
            is_changed=is_changed,
            changes=changes,
            nodes=nodes,
            refused=refused,
            phases=PHASES,
            reasons=_reasons(nodes),
            drawing=draw(nodes[:DRAWN], policy["max_radius"], changes),
            undrawn=max(0, len(nodes) - DRAWN),
        )


async def _checked(
    db: AsyncClient, corpus: str, token: str, id: str, of: rows.GetSliceRow
) -> rows.VerifyTokenRow:
    """Whether a token proves a stored slice, and why not."""
    return await db.verify_token(
        corpus,
        token,
        id,
        of.anchor_chunk_id,
        of.policy_id,
        of.params_hash,
        of.graph_snapshot_hash,
        of.schema_version,
        None,
        of.edge_count,
    )


async def _policy(db: AsyncClient, recorded: rows.GetSliceRow | None) -> dict[str, Any]:
    """The complete policy of a stored slice; the default one without."""
    if recorded is None:
        default = await db.policy_hash(Jsonb({}))
        found = [row.policy for row in await db.list_policies() if row.params_hash == default]
    else:
        found = [recorded.policy]
    if found[0] is None:
        raise Refused(404, "POLICY_NOT_FOUND", "the policy of this slice is not registered")
    return dict(found[0])


def _with(
    nodes: list[rows.SliceGraphRow], before: list[rows.SliceGraphRow]
) -> list[rows.SliceGraphRow]:
    """A graph with what the policy before had admitted, and nothing admitted now leads to."""
    was = {node.chunk_id: node for node in before}
    joined = []
    for node in nodes:
        edges = set(zip(node.parents, node.edge_types, strict=True))
        if node.chunk_id in was:
            old = was.pop(node.chunk_id)
            edges |= set(zip(old.parents, old.edge_types, strict=True))
        parents, kinds = zip(*sorted(edges), strict=True) if edges else ((), ())
        joined.append(replace(node, parents=list(parents), edge_types=list(kinds)))
    detail = "nothing that is admitted leads to it"
    return joined + [
        replace(node, is_admitted=False, place=None, reason="unreached", detail=detail)
        for node in was.values()
    ]


def _merged(base: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    merged = base | changed
    merged["phase_weights"] = base["phase_weights"] | changed.get("phase_weights", {})
    return merged


def _reasons(nodes: Any) -> list[tuple[str, str, int]]:
    """Why chunks were refused: the reason, what it means, and how many."""
    counted: dict[str, tuple[str, int]] = {}
    for node in nodes:
        if not node.is_admitted:
            counted[node.reason] = (node.detail, counted.get(node.reason, ("", 0))[1] + 1)
    return [(reason, detail, count) for reason, (detail, count) in counted.items()]
