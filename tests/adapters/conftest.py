"""What the tests of stores share; coroutines of the public suites run without a plugin."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator

import pytest

import ragdb


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    # of its fixtures those that it names
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="module")
def db(module_clone: str) -> Iterator[ragdb.Database]:
    with ragdb.connect(module_clone) as db:
        yield db
