"""The desk: what a Runner asks a server, over one session of MCP that is opened anew when it was lost."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from kumihimo import __version__
from kumihimo.domain.agent import CLIENTS
from kumihimo.runner.pair import Pair
from kumihimo.runner.place import Workspace
from kumihimo.runner.report import Report
from kumihimo.runner.where import Locate
from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import ClientError, Refused
from kumihimo.wire.client.handshake import Introduction
from kumihimo.wire.client.session import Session
from kumihimo.wire.errors import RpcError
from kumihimo.wire.implementation import Implementation

T = TypeVar("T")

# Below the 50 seconds after which the server answers by itself.
WAIT_SECONDS = 45.0
_SECONDS = 30.0
_US = Introduction(Implementation(name="kumi-runner", version=__version__))
_CLIENT_OF = {word: client for client, word in CLIENTS.items()}


class Trouble(Exception):
    """The server can't be asked now. `refused`: it is there, and does not let us in."""

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.refused = refused


class Rejected(Exception):
    """The server has understood a report, and does not take it: to tell it again would change nothing."""


class _No(Trouble):
    """A tool has answered that it refuses."""


class ActiveProject(Struct, frozen=True):
    project_id: str
    working_directory: str
    agents: list[str]
    project_name: str = ""


class Verdict(Struct, frozen=True):
    should_start: bool
    ai_type: str | None = None
    client: str | None = None
    model: str | None = None

    @property
    def client_name(self) -> str:
        """Our name of the CLI; S1 has the vendor's word alone."""
        return self.client or _CLIENT_OF.get(self.ai_type or "", self.ai_type or "")


class _Projects(Struct):
    projects: list[ActiveProject]


class _Work(Struct):
    pairs: list[Pair]


class Taken(Struct, frozen=True):
    """What the server answers to a report: to that of a start a token, and where to work if not in the project's folder."""

    instance_token: str | None = None
    worktree: Workspace | None = None
    mcp_path: str | None = None


class _Health(Struct):
    status: str
    version: str = ""


class Desk:
    def __init__(self, locate: Locate) -> None:
        self._locate = locate
        self._session: Session | None = None
        self._tools: frozenset[str] = frozenset()
        self._opening = asyncio.Lock()
        # Where an instance finds its tools; known once there is a session.
        self.worker_url = ""
        self.version = ""
        self._sessions = 0

    @property
    def waits(self) -> bool:
        """Whether the server tells when there is work; else it is to be asked again and again."""
        return "wait_for_work" in self._tools

    @property
    def greeting(self) -> str:
        """Another one for each session: whoever has seen it knows whether there was a new one."""
        return f"{self._sessions} {self.version}"

    async def open(self) -> None:
        """See that the server is there."""
        await self._open()

    async def projects(self) -> list[ActiveProject]:
        return (await self._call("list_active_projects_with_agents", _Projects, repeatable=True)).projects

    async def should_start(self, pair: Pair) -> Verdict:
        # Never asked twice: yes is said once.
        return await self._call("should_start", Verdict, agent_id=pair.agent_id, project_id=pair.project_id)

    async def wait_for_work(self) -> list[Pair]:
        """Pairs that may start; none where none may for as long as was waited."""
        milliseconds = int(WAIT_SECONDS * 1000)
        work = await self._call(
            "wait_for_work", _Work, seconds=WAIT_SECONDS + _SECONDS, repeatable=True, timeout_ms=milliseconds
        )
        return work.pairs

    async def report(self, report: Report) -> Taken:
        """Rejected where the server does not take it. A server of S1 alone wants no reports, and gives no token."""
        await self._open()
        if "report_instance" not in self._tools:
            return Taken()
        arguments, meta = report.arguments(), report.beside()
        try:
            return await self._call("report_instance", Taken, repeatable=True, meta=meta, **arguments)
        except _No as no:
            raise Rejected(no.reason) from no

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _call(
        self,
        tool: str,
        answer: type[T],
        *,
        seconds: float = _SECONDS,
        repeatable: bool = False,
        meta: dict[str, str] | None = None,
        **arguments: Any,
    ) -> T:
        session = await self._open()
        try:
            told = await session.call_tool(tool, arguments, seconds=seconds, repeatable=repeatable, meta=meta)
        except ClientError as error:
            await self._drop(session)
            raise _trouble(error) from error
        except RpcError as error:
            raise Trouble(f"{tool}: {error.message}"[:300]) from error
        if told.is_error:
            raise _No(_refusal(told.text))
        data: Any = told.structured_content
        try:
            return msgspec.convert(data if isinstance(data, dict) else msgspec.json.decode(told.text), answer)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
            raise Trouble(f"{tool}: the answer has another shape: {error}"[:300]) from error

    async def _open(self) -> Session:
        async with self._opening:
            if self._session is None:
                where = await self._locate()
                try:
                    self._session = await self._greet(await connect(where.server, _US, seconds=_SECONDS))
                except ClientError as error:
                    raise _trouble(error) from error
                except RpcError as error:
                    raise Trouble(error.message[:300]) from error
                self.worker_url = where.worker_url
                self._sessions += 1
            return self._session

    async def _greet(self, session: Session) -> Session:
        """S1's first step, and what the server has besides S1's three calls."""
        try:
            self._tools = frozenset(str(tool.get("name")) for tool in await session.list_tools())
            health = await session.call_tool("health_check", repeatable=True)
            self.version = msgspec.json.decode(health.text, type=_Health).version
        except msgspec.DecodeError as error:
            await session.close()
            raise Trouble(f"health_check: the answer has another shape: {error}"[:300]) from error
        except BaseException:
            await session.close()
            raise
        return session

    async def _drop(self, session: Session) -> None:
        """Of many calls that find it lost, one closes it."""
        if self._session is session:
            self._session = None
            await session.close()


def _trouble(error: ClientError) -> Trouble:
    return Trouble(error.reason[:300], refused=isinstance(error, Refused) and error.status in (401, 403))


class _Refusal(Struct):
    error: str


def _refusal(text: str) -> str:
    """What a refusal says: in our dialect and S1's under `error`, elsewhere as it is."""
    try:
        return msgspec.json.decode(text, type=_Refusal).error[:300]
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text[:300]
