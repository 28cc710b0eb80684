"""Parts of the room on their own: catalogs, tasks, signatures, templates, mirrored arguments."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import Raw
from wire_clients import HttpClient, until
from wire_kit import TOOLS, add, build, call, initialize, request, stateless

from kumihimo.wire.catalog import Catalog
from kumihimo.wire.conversation import Conversation
from kumihimo.wire.errors import HeaderMismatch, InvalidParams
from kumihimo.wire.framing import Frame
from kumihimo.wire.http import HttpServer
from kumihimo.wire.jsonrpc import KNOWN_METHODS
from kumihimo.wire.methods import HANDSHAKE_METHODS, STATELESS_METHODS
from kumihimo.wire.mirrored import check_mirrored, mirrored_arguments
from kumihimo.wire.origin import Gate
from kumihimo.wire.resource import ResourceTemplate
from kumihimo.wire.revision import STATELESS, V2025_11_25
from kumihimo.wire.signature import sign, verify
from kumihimo.wire.task import Task
from kumihimo.wire.tool import Tool, ToolResult, encode_task_result

TASK_CLIENT = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


def test_lists_are_paged_by_opaque_cursors() -> None:
    async def test() -> None:
        client = HttpClient(HttpServer(build(page_size=5)))
        await client.begin()
        names: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = (await client.post(request(1, "tools/list", **cursor))).json["result"]
            names += [tool["name"] for tool in page["tools"]]
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert names == [tool.name for tool in TOOLS]
        for bad in ("", "x", cursor["cursor"][:-2], "dG9vbHM6OTk=", "cHJvbXB0czox"):
            assert (await client.post(request(2, "tools/list", cursor=bad))).json["error"]["code"] == -32602

    asyncio.run(test())


def test_a_catalog_refuses_two_of_a_name() -> None:
    with pytest.raises(ValueError, match="twice"):
        Catalog(tools=[Tool(name="a", handler=add), Tool(name="a", handler=add)])


def test_what_is_not_offered_is_not_found_and_not_advertised() -> None:
    async def test() -> None:
        client = HttpClient(HttpServer(build(catalog=Catalog(tools=TOOLS[:1]), complete=None, logging=False)))
        assert (await client.begin())["capabilities"] == {"tools": {"listChanged": True}}
        methods = ("prompts/list", "prompts/get", "resources/list", "resources/read", "resources/subscribe")
        for method in (*methods, "completion/complete", "logging/setLevel", "resources/unsubscribe"):
            assert (await client.post(request(1, method))).json["error"]["code"] == -32601

    asyncio.run(test())


def test_a_catalog_may_depend_on_caller_and_revision() -> None:
    catalogs = {"aki": Catalog(tools=TOOLS[:1]), "bo": Catalog(tools=TOOLS[1:2])}

    def catalog_of(caller: Any, revision: Any) -> Catalog:
        return catalogs[caller]

    async def test() -> None:
        app = HttpServer(
            build(catalog=catalog_of), authenticate=lambda scope: dict(scope["headers"])[b"x-caller"].decode()
        )
        for caller, tool in (("aki", "add"), ("bo", "add_later")):
            reply = await HttpClient(app).post_stateless(request(1, "tools/list"), x_caller=caller)
            assert [shown["name"] for shown in reply.json["result"]["tools"]] == [tool]
        refused = await HttpClient(app).post_stateless(call(1, "add"), x_caller="bo")
        assert refused.json["error"]["code"] == -32602

    asyncio.run(test())


def test_a_catalog_that_cannot_be_made_is_a_fault_and_not_the_end() -> None:
    def catalog_of(caller: Any, revision: Any) -> Catalog:
        raise KeyError(caller)

    written: list[bytes] = []
    conversation = Conversation(build(catalog=catalog_of), "aki")
    conversation.attach(written.append, lambda *_: None)
    for message in (initialize(), stateless(request(2, "tools/list")), request(3, "ping")):
        conversation.receive(Frame(msgspec.json.encode(message), framed=False))
    answers = [msgspec.json.decode(data) for data in written]
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32603, -32603, None]


def test_resources_prompts_and_completion() -> None:
    async def test() -> None:
        client = HttpClient(HttpServer(build()))
        read = (await client.post_stateless(request(1, "resources/read", uri="note://12/text"))).json["result"]
        assert read["contents"] == [{"uri": "note://12/text", "text": "number 12"}]
        assert (read["ttlMs"], read["cacheScope"]) == (60_000, "public")
        prompt = request(2, "prompts/get", name="greet", arguments={"who": "Aki"})
        messages = (await client.post_stateless(prompt)).json["result"]["messages"]
        assert messages == [{"role": "user", "content": {"type": "text", "text": "Greet Aki."}}]
        reference = {"type": "ref/prompt", "name": "greet"}
        completion = request(3, "completion/complete", ref=reference, argument={"name": "who", "value": "A"})
        found = (await client.post_stateless(completion)).json["result"]["completion"]
        assert (len(found["values"]), found["total"], found["hasMore"]) == (100, 150, True)
        bad = request(4, "completion/complete", ref={"type": "ref/other"}, argument={})
        assert (await client.post_stateless(bad)).json["error"]["code"] == -32602

    asyncio.run(test())


class OneTask:
    """A store with one task, whose state a test sets."""

    def __init__(self) -> None:
        self.task = Task(
            task_id="t1", status="working", created_at="2026-01-01T00:00:00Z", last_updated_at="2026-01-01T00:00:00Z"
        )
        self.updates: list[Any] = []

    def get(self, caller: Any, task_id: str) -> Task | None:
        return self.task if task_id == "t1" else None

    async def update(self, caller: Any, task_id: str, responses: Any) -> bool:
        self.updates.append(sorted(responses))
        return task_id == "t1"

    def cancel(self, caller: Any, task_id: str) -> bool:
        return task_id == "t1"


def test_a_task_is_handed_out_read_updated_and_cancelled() -> None:
    store = OneTask()
    tool = Tool(name="work", handler=lambda *_: store.task, tasks="required")

    async def test() -> None:
        client = HttpClient(HttpServer(build(catalog=Catalog(tools=[tool]), tasks=store)))
        refused = await client.post_stateless(call(1, "work"))
        assert (refused.status, refused.json["error"]["code"]) == (400, -32021)
        able: Any = {"capabilities": TASK_CLIENT}
        created = (await client.post_stateless(call(1, "work"), **able)).json["result"]
        assert (created["resultType"], created["taskId"], created["ttlMs"]) == ("task", "t1", None)
        store.task.status = "completed"
        store.task.result = encode_task_result(ToolResult(structured={"done": True}))
        found = (await client.post_stateless(request(2, "tasks/get", taskId="t1"), **able)).json["result"]
        assert (found["resultType"], found["status"]) == ("complete", "completed")
        assert found["result"]["structuredContent"] == {"done": True}
        update = request(3, "tasks/update", taskId="t1", inputResponses={"a": {}})
        assert (await client.post_stateless(update, **able)).json["result"]["resultType"] == "complete"
        assert store.updates == [["a"]]
        cancel = await client.post_stateless(request(4, "tasks/cancel", taskId="t1"), **able)
        assert "taskId" not in cancel.json["result"]
        for method in ("tasks/get", "tasks/cancel"):
            unknown = await client.post_stateless(request(5, method, taskId="none"), **able)
            assert unknown.json["error"]["code"] == -32602
            undeclared = await client.post_stateless(request(6, method, taskId="t1"))
            assert undeclared.json["error"]["code"] == -32021

    asyncio.run(test())


def test_a_client_that_listens_to_a_task_hears_its_whole_state() -> None:
    store = OneTask()

    async def test() -> None:
        server = build(tasks=store)
        app = HttpServer(server)
        wanted = request("s", "subscriptions/listen", notifications={"taskIds": ["t1"]})
        headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "subscriptions/listen"}
        reply, listening = HttpClient(app).start("POST", stateless(wanted, **TASK_CLIENT), **headers)
        await until(lambda: reply.events)
        assert reply.events[0]["params"]["notifications"] == {"taskIds": ["t1"]}
        store.task.status = "completed"
        store.task.result = encode_task_result("done")
        server.changes.task(store.task)
        server.changes.tools()
        await until(lambda: len(reply.events) == 2)
        told = reply.events[1]
        assert told["method"] == "notifications/tasks"
        assert (told["params"]["taskId"], told["params"]["status"]) == ("t1", "completed")
        assert told["params"]["result"]["content"][0]["text"] == "done"
        assert told["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "s"}
        await app.close()
        await listening

    asyncio.run(test())


def test_signatures_hold_for_their_key_and_purpose_only() -> None:
    token = sign(b"key", "session", b"payload")
    assert verify(b"key", "session", token) == b"payload"
    assert verify(b"other", "session", token) is None
    assert verify(b"key", "state", token) is None
    for bad in ("", ".", token[:-1], token + "A", token.replace(".", ""), "é.é", token + "=", " " + token):
        assert verify(b"key", "session", bad) is None


def test_templates_match_whole_uris() -> None:
    values = ResourceTemplate(uri_template="a://{x}/b{+rest}", name="t", handler=lambda *_: None).matcher()
    assert values("a://1/b/c/d") == {"x": "1", "rest": "/c/d"}
    assert values("a://1/2/b/c") is None
    assert values("xa://1/b/c") is None


def test_mirrored_arguments_are_compared_as_values() -> None:
    schema = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "on": {"type": "boolean", "x-mcp-header": "On"},
        },
    }
    mirrored = mirrored_arguments(schema)
    good = Raw(b'{"region":"us","deep":{"n":42},"on":true}')
    headers = {b"mcp-param-region": b"us", b"mcp-param-n": b"42.0", b"mcp-param-on": b"true"}
    check_mirrored(mirrored, good, headers)
    check_mirrored(mirrored, Raw(b'{"region":null}'), {})
    for change in ({b"mcp-param-n": b"41"}, {b"mcp-param-on": b"True"}, {b"mcp-param-region": b"\xff"}):
        with pytest.raises(HeaderMismatch):
            check_mirrored(mirrored, good, headers | change)
    for bad in ({"type": "number", "x-mcp-header": "A"}, {"type": "string", "x-mcp-header": "a b"}):
        with pytest.raises(ValueError, match="x-mcp-header"):
            mirrored_arguments({"properties": {"p": bad}})


def test_the_gate_knows_ports_and_origins() -> None:
    gate = Gate(["app.example:8080"], ["https://page.example"])
    assert gate.admits(b"app.example:8080", b"https://page.example")
    assert not gate.admits(b"app.example:9", None)
    assert not gate.admits(None, None)
    assert not gate.admits(b"app.example:8080", b"https://page.example.evil")
    assert Gate(["*"]).admits(b"anything", None)


def test_every_method_that_is_served_is_known_to_the_decoder() -> None:
    assert set(HANDSHAKE_METHODS) | set(STATELESS_METHODS) | {"initialize"} == KNOWN_METHODS


def test_pages_are_encoded_once_per_revision() -> None:
    catalog = Catalog(tools=TOOLS, ttl_ms=5, cache_scope="public")
    assert catalog.page("tools", STATELESS, None) is catalog.page("tools", STATELESS, None)
    assert catalog.page("tools", STATELESS, None).endswith(b'"ttlMs":5,"cacheScope":"public"')
    with pytest.raises(InvalidParams):
        catalog.page("tools", V2025_11_25, "x")
