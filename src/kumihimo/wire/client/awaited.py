"""A call that a task waits for."""

from __future__ import annotations

import asyncio

from msgspec import Raw

from kumihimo.wire.client.call import Call, OnProgress, OnRequest


class Awaited(Call):
    """`answer` becomes the result as it came, or an RpcError or ClientError."""

    __slots__ = ("answer",)

    def __init__(
        self, number: int, method: str, on_progress: OnProgress | None = None, on_input: OnRequest | None = None
    ) -> None:
        super().__init__(number, method, on_progress, on_input)
        self.answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()

    @property
    def over(self) -> bool:
        return self.answer.done()

    def settle(self, result: Raw) -> None:
        if not self.answer.done():
            self.answer.set_result(result)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
