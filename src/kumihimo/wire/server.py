"""A server: who it is, what it offers to whom, and what it needs to do so."""

import os
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from kumihimo.wire.catalog import Catalog
from kumihimo.wire.changes import Changes
from kumihimo.wire.completion import CompletionArgument, CompletionContext, Reference
from kumihimo.wire.errors import OLD_RESOURCE_NOT_FOUND
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.jsonrpc import SERVER_INFO, encode
from kumihimo.wire.peer import CatalogOf
from kumihimo.wire.revision import SUPPORTED, Revision
from kumihimo.wire.task import EXTENSION, TaskStore

if TYPE_CHECKING:
    import asyncio

    from kumihimo.wire.request import Request

Watch = Callable[[Changes, Callable[[], None]], Coroutine[Any, Any, None]]
"""Announces changes, and calls its second argument once it misses none any more."""
Completer = Callable[["Request", Reference, CompletionArgument, CompletionContext], Any]


def _nobody(caller: Any) -> str:  # noqa: ARG001 - the signature of a subject function
    return ""


class Server:
    """Everything a transport needs to serve clients; it keeps nothing about any of them.

    `catalog` is a Catalog, or a function of caller and revision that returns one (the same object for the same
    audience, so that its lists stay encoded). `complete` proposes values of arguments, as a Completion. `key` signs
    HTTP sessions and request states: processes that share it accept each other's. `subject(caller)` is the text
    that a session and a state are bound to, so that one caller cannot use another's. `unknown_resource` is the code for
    one in the revisions with a handshake; the stateless one has its own. `watch` announces changes for as long as it runs;
    it is started with the first subscription, so that nobody pays for what nobody listens to.
    """

    def __init__(
        self,
        info: Implementation,
        catalog: Catalog | CatalogOf,
        *,
        instructions: str = "",
        complete: Completer | None = None,
        tasks: TaskStore | None = None,
        logging: bool = True,
        key: bytes | None = None,
        subject: Callable[[Any], str] = _nobody,
        clock: Callable[[], float] = time.time,
        on_fault: Callable[[str, BaseException], None] | None = None,
        unknown_resource: int = OLD_RESOURCE_NOT_FOUND,
        watch: Watch | None = None,
        place: str = "",
    ) -> None:
        self.info = info
        self.catalog = catalog
        self.instructions = instructions
        self.complete = complete
        self.tasks = tasks
        self.logging = logging
        self.key = key if key is not None else os.urandom(32)
        self.subject = subject
        self.place = place
        self.clock = clock
        self.changes = Changes()
        self.on_fault = on_fault if on_fault is not None else _report
        self.unknown_resource = unknown_resource
        self._watch = watch
        self._watching: asyncio.Task[None] | None = None
        self._info = encode(info)
        self._stateless_meta = b'"%b":%b' % (SERVER_INFO.encode(), self._info)
        self._stateless_open = b'{"resultType":"complete","_meta":{%b}' % self._stateless_meta

    async def start_watching(self) -> None:
        """Before a subscription is acknowledged: from then on nothing is missed."""
        if self._watch is None:
            return
        import asyncio

        if self._watching is None or self._watching.done():
            self._ready = asyncio.Event()
            self._watching = asyncio.get_running_loop().create_task(self._keep_watching(self._watch, self._ready))
        assert self._ready is not None, "made with the task"
        await self._ready.wait()

    @property
    def watches(self) -> bool:
        return self._watch is not None

    async def _keep_watching(self, watch: Watch, ready: "asyncio.Event") -> None:
        try:
            await watch(self.changes, ready.set)
        except Exception as fault:  # noqa: BLE001 - the outermost frame of a task: a fault must not vanish with it
            self.on_fault("watching for changes", fault)
        finally:
            ready.set()

    def catalog_for(self, caller: Any, revision: Revision) -> Catalog:
        catalog = self.catalog
        return catalog if isinstance(catalog, Catalog) else catalog(caller, revision)

    def result(self, revision: Revision, fields: bytes, meta: Any = None) -> bytes:
        """A complete result with these fields, as the revision has it."""
        if revision.handshake:
            if meta and revision.structured:
                fields = b'"_meta":%b' % encode(meta) + (b"," + fields if fields else b"")
            return b"{%b}" % fields
        opened = self.open_result("complete", meta) if meta else self._stateless_open
        return b"%b,%b}" % (opened, fields) if fields else opened + b"}"

    def open_result(self, result_type: str, meta: Any = None) -> bytes:
        """The beginning of a stateless result of this type, without the closing brace."""
        shown = self._stateless_meta
        if meta:
            shown += b"," + encode(meta)[1:-1]
        return b'{"resultType":%b,"_meta":{%b}' % (encode(result_type), shown)

    def capabilities(self, catalog: Catalog, revision: Revision) -> dict[str, Any]:
        """What this server can do for whoever is offered this catalog."""
        offered: dict[str, Any] = {}
        if catalog.tools:
            offered["tools"] = {"listChanged": True}
        if catalog.resources or catalog.templates:
            offered["resources"] = {"subscribe": True, "listChanged": True}
        if catalog.prompts:
            offered["prompts"] = {"listChanged": True}
        if self.logging:
            offered["logging"] = {}
        if self.complete is not None and revision.annotations:
            offered["completions"] = {}
        if self.tasks is not None and not revision.handshake:
            offered["extensions"] = {EXTENSION: {}}
        return offered

    def initialize_result(self, catalog: Catalog, revision: Revision) -> bytes:
        result: dict[str, Any] = {
            "protocolVersion": revision.name,
            "capabilities": self.capabilities(catalog, revision),
            "serverInfo": self.info,
        }
        if self.instructions:
            result["instructions"] = self.instructions
        return encode(result)

    def discover_fields(self, catalog: Catalog, revision: Revision) -> bytes:
        fields: dict[str, Any] = {
            "supportedVersions": SUPPORTED,
            "capabilities": self.capabilities(catalog, revision),
            "ttlMs": 0,
            "cacheScope": "private",
        }
        if self.instructions:
            fields["instructions"] = self.instructions
        return encode(fields)[1:-1]


def _report(what: str, fault: BaseException) -> None:
    """A fault of a handler goes to the log with its traceback; the client only learns that there was one."""
    import logging

    logging.getLogger("kumihimo.wire").error("%s failed", what, exc_info=fault)
