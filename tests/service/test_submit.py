"""Tests of the path of submissions, with a writer that answers as it is told."""

import asyncio
import secrets
from pathlib import Path
from typing import Any

import pytest

from multi_freq_ldpy.service.groups import DELETED, Counted, NotAccepted, Outcome
from multi_freq_ldpy.service.store import Store
from multi_freq_ldpy.service.submit import Submissions

from .conftest import ONCE
from .harness import BINARY
from .test_failures import begin, make_body

pytestmark = pytest.mark.extras


class DeletedOnce:
    """A writer that says "deleted" to the first requests, after all of them have come."""

    def __init__(self, many: int) -> None:
        self.many, self.asked, self.all = many, 0, asyncio.Event()

    async def submit(self, _: object) -> Outcome:
        """Return the result of a submission."""
        self.asked += 1
        if self.asked == self.many:
            self.all.set()
        if self.asked > self.many:
            return Counted(1, 0)
        await self.all.wait()
        return NotAccepted(DELETED, [])


def test_requests_to_a_survey_that_was_made_again_do_not_disturb_each_other(tmp_path: Path) -> None:
    store, sent = Store(f"sqlite:///{tmp_path}/a.sqlite"), []
    begin(store, ONCE)
    headers = [(name.lower().encode(), value.encode()) for name, value in BINARY.items()]
    scope = {"method": "POST", "path": "/v1/surveys/test/reports", "headers": headers}

    async def receive() -> Any:
        return {"type": "http.request", "body": make_body(ONCE, [secrets.token_bytes(16)])}

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask(many: int) -> None:
        submissions = Submissions(store, DeletedOnce(many), 10**6)  # type: ignore[arg-type]
        await asyncio.gather(*(submissions(scope, receive, send) for _ in range(many)))

    asyncio.run(ask(3))
    store.close()
    assert [each["status"] for each in sent if "status" in each] == [200] * 3
