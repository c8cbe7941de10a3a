"""Generated from the comments and signatures in sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass

from ragdb.calls import AsyncCaller, Call, Caller


@dataclass(frozen=True, slots=True)
class ErrorCodesRow:
    """A row of `error_codes`."""

    sqlstate: str
    name: str
    wire_word: str
    http_status: int
    meaning: str


_ERROR_CODES = Call("error_codes", {})


class Functions(Caller):
    """Every public SQL function, as a method."""

    def error_codes(self) -> list[ErrorCodesRow]:
        """Lists every SQLSTATE of class RG with its class name in Python, its wire word, its HTTP
        status and its meaning.
        """
        return self._rows(_ERROR_CODES, ErrorCodesRow)


class AsyncFunctions(AsyncCaller):
    """Every public SQL function, as an asynchronous method."""

    async def error_codes(self) -> list[ErrorCodesRow]:
        """Lists every SQLSTATE of class RG with its class name in Python, its wire word, its HTTP
        status and its meaning.
        """
        return await self._rows(_ERROR_CODES, ErrorCodesRow)
