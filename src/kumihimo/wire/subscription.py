"""Subscriptions: the long-lived request of the stateless revisions by which a client hears of changes."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec

from kumihimo.wire.changes import Change, Filter
from kumihimo.wire.errors import InvalidParams, MissingCapability
from kumihimo.wire.jsonrpc import SUBSCRIPTION_ID, encode, encode_notification
from kumihimo.wire.request import Request
from kumihimo.wire.task import EXTENSION, REQUIRED

_decode_filter = msgspec.json.Decoder(Filter).decode

MOST_SUBSCRIBED = 10_000


class Inbox:
    """Changes that wait to be sent. A newer change of the same thing replaces the older: a slow client costs little."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str | None], Change] = {}
        self._arrived = asyncio.Event()

    def put(self, change: Change) -> None:
        self._waiting[change.key] = change
        self._arrived.set()

    async def take(self) -> list[Change]:
        """Wait for changes and take all there are."""
        await self._arrived.wait()
        self._arrived.clear()
        taken = list(self._waiting.values())
        self._waiting.clear()
        return taken


def listen(request: Request) -> Coroutine[Any, Any, bytes]:
    """Acknowledge a subscription and send its changes until it is cancelled; RpcError where it cannot be had."""
    try:
        wanted = _decode_filter(request.params.notifications)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidParams(f"Invalid notifications of subscriptions/listen: {error}") from None
    tasks = wanted.task_ids
    if isinstance(tasks, tuple) and not request.peer.has_extension(EXTENSION):
        raise MissingCapability(REQUIRED)
    asked = len(wanted.resource_subscriptions) + (len(tasks) if isinstance(tasks, tuple) else 0)
    if asked > MOST_SUBSCRIBED:
        raise InvalidParams(f"A subscription names at most {MOST_SUBSCRIBED} resources and tasks")
    return _serve(request, _granted(request, wanted))


def _granted(request: Request, wanted: Filter) -> Filter:
    catalog = request.peer.catalog
    readable = bool(catalog.resources or catalog.templates)
    return Filter(
        tools_list_changed=wanted.tools_list_changed and bool(catalog.tools),
        prompts_list_changed=wanted.prompts_list_changed and bool(catalog.prompts),
        resources_list_changed=wanted.resources_list_changed and readable,
        resource_subscriptions=wanted.resource_subscriptions if readable else (),
        task_ids=wanted.task_ids if request.server.tasks is not None else msgspec.UNSET,
    )


async def _serve(request: Request, granted: Filter) -> bytes:
    inbox = Inbox()
    await request.server.start_watching()
    changes = request.server.changes
    changes.listen(inbox, lambda change: inbox.put(change) if granted.admits(change) else None)
    tag = {SUBSCRIPTION_ID: request.id}
    try:
        acknowledged = {"_meta": tag, "notifications": granted}
        await request.channel.deliver(encode_notification("notifications/subscriptions/acknowledged", acknowledged))
        while True:
            for change in await inbox.take():
                await request.channel.deliver(_tagged(change, tag))
    except asyncio.CancelledError:
        if not request.server.changes.closing:
            raise
    finally:
        changes.leave(inbox)
    return request.server.result(request.revision, b"", tag)


def _tagged(change: Change, tag: dict[str, Any]) -> bytes:
    if change.task is not None:
        task = b'{"_meta":%b,%b' % (encode(tag), encode(change.task)[1:])
        return b'{"jsonrpc":"2.0","method":"%b","params":%b}' % (change.method.encode(), task)
    params: dict[str, Any] = {"_meta": tag}
    if change.uri is not None:
        params["uri"] = change.uri
    return encode_notification(change.method, params)
