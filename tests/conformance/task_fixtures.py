"""Fixtures of the conformance suite that work as tasks, on a store in memory."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from kumihimo.wire.changes import Changes
from kumihimo.wire.errors import RpcError
from kumihimo.wire.inputs import Elicit, Question, input_requests
from kumihimo.wire.request import Request
from kumihimo.wire.revision import STATELESS
from kumihimo.wire.task import Task
from kumihimo.wire.tool import Tool, ToolRefusal, ToolResult, encode_task_result

Work = Callable[["Running"], Awaitable[str]]
CONFIRM_FORM = {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}


class Running:
    """A task and the work behind it."""

    def __init__(self, changes: Changes, work: Work) -> None:
        now = datetime.now(UTC).isoformat()
        self.state = Task(
            task_id=secrets.token_urlsafe(16),
            status="working",
            created_at=now,
            last_updated_at=now,
            ttl_ms=3_600_000,
            poll_interval_ms=100,
        )
        self._changes = changes
        self._answers: dict[str, asyncio.Future[Any]] = {}
        self._asked: dict[str, Question] = {}
        self._job = asyncio.get_running_loop().create_task(self._run(work))

    async def _run(self, work: Work) -> None:
        try:
            self._become("completed", result=encode_task_result(await work(self)))
        except ToolRefusal as refusal:
            result = encode_task_result(ToolResult(structured={"error": str(refusal)}, is_error=True))
            self._become("completed", result=result)
        except RpcError as error:
            self._become("failed", error={"code": error.code, "message": error.message})
        except asyncio.CancelledError:
            self._become("cancelled")

    def _become(self, status: Any, **fields: Any) -> None:
        for name in ("result", "error", "input_requests"):
            setattr(self.state, name, fields.get(name, UNSET))
        self.state.status = status
        self.state.last_updated_at = datetime.now(UTC).isoformat()
        self._changes.task(self.state)

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        futures = {key: loop.create_future() for key in questions}
        self._answers |= futures
        self._asked |= questions
        self._show()
        return {key: await future for key, future in futures.items()}

    def _show(self) -> None:
        if self._asked:
            self._become("input_required", input_requests=input_requests(self._asked, STATELESS))
        else:
            self._become("working")

    def take(self, responses: Mapping[str, Raw]) -> None:
        for key in responses:
            if self._asked.pop(key, None) is not None:
                self._answers.pop(key).set_result(msgspec.json.decode(responses[key]))
                self._show()

    def cancel(self) -> None:
        self._job.cancel()


class MemoryTasks:
    """A TaskStore that lives as long as its process: enough for the suite, and for nothing else."""

    def __init__(self) -> None:
        self._tasks: dict[str, Running] = {}

    def start(self, request: Request, work: Work) -> Task:
        running = Running(request.server.changes, work)
        self._tasks[running.state.task_id] = running
        return running.state

    def get(self, caller: Any, task_id: str) -> Task | None:
        running = self._tasks.get(task_id)
        return None if running is None else running.state

    def update(self, caller: Any, task_id: str, responses: Mapping[str, Raw]) -> bool:
        running = self._tasks.get(task_id)
        if running is not None:
            running.take(responses)
        return running is not None

    async def cancel(self, caller: Any, task_id: str) -> bool:
        running = self._tasks.get(task_id)
        if running is not None:
            running.cancel()
            await asyncio.sleep(0)
        return running is not None


TASKS = MemoryTasks()


async def slow_compute(request: Request, arguments: Raw) -> Task | str:
    seconds = msgspec.json.decode(arguments).get("seconds", 0)

    async def work(running: Running | None) -> str:
        await asyncio.sleep(seconds)
        return f"Computed for {seconds} s"

    return TASKS.start(request, work) if request.accepts_tasks else await work(None)


async def failing_job(request: Request, arguments: Raw) -> Task:
    async def work(running: Running) -> str:
        await asyncio.sleep(0.2)
        raise ToolRefusal("The job failed, as it always does")

    return TASKS.start(request, work)


async def protocol_error_job(request: Request, arguments: Raw) -> Task:
    async def work(running: Running) -> str:
        raise RpcError(-32603, "The job broke the protocol, as it always does")

    return TASKS.start(request, work)


async def confirm_delete(request: Request, arguments: Raw) -> Task:
    async def work(running: Running) -> str:
        answers = await running.ask({"confirm": Elicit("Really delete?", CONFIRM_FORM)})
        return f"Deleted: {answers['confirm']}"

    return TASKS.start(request, work)


async def multi_input(request: Request, arguments: Raw) -> Task:
    async def work(running: Running) -> str:
        questions = {key: Elicit(f"The {key} one?", CONFIRM_FORM) for key in ("first", "second")}
        return f"Answered: {', '.join(await running.ask(questions))}"

    return TASKS.start(request, work)


async def tool_with_task(request: Request, arguments: Raw) -> Task:
    form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    answer = await request.elicit("What is your name?", form, key="user_name")

    async def work(running: Running) -> str:
        await asyncio.sleep(0.1)
        return f"Worked for {(answer.content or {}).get('name')}"

    return TASKS.start(request, work)


TASK_TOOLS = [
    Tool(name="slow_compute", description="Takes as long as it is told", handler=slow_compute, tasks="optional"),
    Tool(name="failing_job", description="A job that fails", handler=failing_job, tasks="required"),
    Tool(name="protocol_error_job", description="A job that breaks", handler=protocol_error_job, tasks="required"),
    Tool(name="confirm_delete", description="A job that asks", handler=confirm_delete, tasks="required"),
    Tool(name="multi_input", description="A job that asks twice", handler=multi_input, tasks="required"),
    Tool(name="test_tool_with_task", description="Asks, then works", handler=tool_with_task, tasks="required"),
]
