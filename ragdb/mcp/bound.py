"""The tools of contracts where they are many: one tool finds them, and one calls them.

A model reads what each tool takes before it begins, and clients ask for no second page of tools.
"""

from __future__ import annotations

from mcp import MCPError

from ragdb.client._generated.rows import ListToolsRow
from ragdb.mcp.served import Json, Served, ToolError
from ragdb.mcp.shapes import LIST, Builtin, count, result, string

MANY = 40
"""Tools of contracts that are listed one by one."""
_LISTED = 20
_SHOWN = ("name", "title", "corpus", "contract", "input_schema")


def described(row: ListToolsRow) -> str:
    """What a tool is for, as its contract says."""
    return row.description or f"Searches corpus {row.corpus} as contract {row.contract} declares."


def list_contract_tools(served: Served, arguments: Json) -> Json:
    words = arguments.get("words", "").lower().split()
    after, most = arguments.get("after", ""), arguments.get("count", _LISTED)
    with served.database() as db:
        found = [
            row
            for row in sorted(served.tools_of_contracts(db), key=lambda row: row.name)
            if row.name > after and _has(row, words)
        ]
    shown: list[Json] = [
        {**{name: getattr(row, name) for name in _SHOWN}, "description": described(row)}
        for row in found[:most]
    ]
    if len(found) > most:
        return {"tools": shown, "note": "There are more: give words, or the last name as after."}
    return {"tools": shown}


def _has(row: ListToolsRow, words: list[str]) -> bool:
    text = " ".join((row.name, row.title or "", described(row))).lower()
    return all(word in text for word in words)


def call_contract_tool(served: Served, arguments: Json) -> Json:
    try:
        return served.bound(arguments["name"], arguments.get("arguments", {}))
    except MCPError as error:
        raise ToolError(f"{error}: list_contract_tools finds those that there are") from None


BOUND: dict[str, Builtin] = {
    "list_contract_tools": Builtin(
        "Find tools of contracts",
        "Finds more tools, which call_contract_tool calls: searches that contracts declare, each"
        " with what it is for and the arguments that it takes.",
        {
            "words": string("Words that the name, the title or the description has."),
            "after": string("Last name seen."),
            "count": count(_LISTED),
        },
        (),
        list_contract_tools,
        result({"note": string("Whether there are more.")}, tools=LIST),
    ),
    "call_contract_tool": Builtin(
        "Call a tool of a contract",
        "Calls a tool that list_contract_tools found.",
        {
            "name": string("Name of the tool.", minLength=1),
            "arguments": {"type": "object", "description": "What its input_schema asks for."},
        },
        ("name",),
        call_contract_tool,
        result(provenance={"type": "object"}),
        records=True,
    ),
}
