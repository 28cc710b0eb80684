"""The protocol by hand on stdio, against a real process."""

import json

import pytest
from wire_clients import stdio_client
from wire_kit import HANDSHAKES, call, initialize, request, stateless


@pytest.mark.parametrize("revision", HANDSHAKES)
def test_each_revision_with_a_handshake_lists_and_calls(revision: str) -> None:
    with stdio_client(revision=revision) as client:
        tools = {tool["name"]: tool for tool in client.exchange(request(1, "tools/list"))["result"]["tools"]}
        assert tools["add"]["inputSchema"]["required"] == ["a", "b"]
        assert ("annotations" in tools["add"]) == (revision >= "2025-03-26")
        assert ("outputSchema" in tools["add"]) == ("title" in tools["add"]) == (revision >= "2025-06-18")
        result = client.exchange(call(2, "add", {"a": 1, "b": 2}))["result"]
        assert json.loads(result["content"][0]["text"]) == {"sum": 3}
        assert ("structuredContent" in result) == (revision >= "2025-06-18")
        assert "resultType" not in result
        assert client.finish()[0] == 0


def test_an_unknown_version_is_offered_the_newest_with_a_handshake() -> None:
    with stdio_client(revision=None) as client:
        for asked in ("2026-07-28", "1999-01-01"):
            answer = client.exchange(initialize(asked))
            assert answer["result"]["protocolVersion"] == "2025-11-25"


def test_stateless_requests_need_no_handshake_and_carry_their_version() -> None:
    with stdio_client(revision=None) as client:
        found = client.exchange(stateless(request(1, "server/discover")))["result"]
        assert found["resultType"] == "complete"
        assert "2026-07-28" in found["supportedVersions"]
        assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "kit"
        listed = client.exchange(stateless(request(2, "tools/list")))["result"]
        assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")
        result = client.exchange(stateless(call("three", "who")))["result"]
        assert result["structuredContent"] == {"caller": "local", "revision": "2026-07-28", "client": "hand"}
        assert result["_meta"]["example/kept"] is True


def test_both_eras_are_served_on_one_line() -> None:
    with stdio_client(revision="2025-06-18") as client:
        assert client.exchange(call(1, "who"))["result"]["structuredContent"]["revision"] == "2025-06-18"
        stateless_result = client.exchange(stateless(call(2, "who")))["result"]
        assert stateless_result["structuredContent"]["revision"] == "2026-07-28"
        assert "resultType" not in client.exchange(request(3, "ping"))["result"]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (request(1, "tools/list"), -32602),
        (request(1, "server/discover"), -32602),
        (stateless(request(1, "ping")), -32601),
        (stateless(request(1, "initialize")), -32601),
        (stateless(request(1, "nonsense")), -32601),
        (stateless(request(1, "tasks/get", taskId="x")), -32601),
        (stateless(request(1, "resources/read", uri="note://none")), -32602),
        (request(1, "tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2027-01-01"}), -32022),
        (request(1, "tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}), -32602),
    ],
)
def test_what_cannot_be_served_before_a_handshake_says_why(message: object, code: int) -> None:
    with stdio_client(revision=None) as client:
        answer = client.exchange(message)
        assert (answer["id"], answer["error"]["code"]) == (1, code)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (request(1, "nonsense"), -32601),
        (request(1, "nonsense", name=5), -32601),
        (call(1, "nonsense"), -32602),
        (request(1, "tools/call"), -32602),
        (request(1, "tools/call", name=5), -32602),
        (call(1, "add", [1]), -32602),
        (request(1, "tools/list", cursor="bogus"), -32602),
        (request(1, "resources/read", uri="note://none"), -32002),
        (request(1, "prompts/get", name="none"), -32602),
        (request(1, "prompts/get", name="greet"), -32602),
        (request(1, "logging/setLevel", level="loud"), -32602),
        (call(1, "fail"), -32603),
        (call(1, "stray"), -32603),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, -32600),
    ],
)
def test_a_mistake_is_answered_with_its_code_and_the_line_goes_on(message: object, code: int) -> None:
    with stdio_client() as client:
        answer = client.exchange(message)
        assert (answer["id"], answer["error"]["code"]) == (1, code)
        assert client.exchange(request(2, "ping"))["result"] == {}


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25"])
def test_bytes_that_are_no_message_are_answered_without_an_id(revision: str) -> None:
    bad = [
        b"nonsense",
        b"{",
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 100_000,
        b"5",
        b'"text"',
        b"[" * 50_000,
        b"\x00\x01",
        b"[]",
    ]
    with stdio_client(revision=revision) as client:
        for data in bad:
            client.send_bytes(data + b"\n")
            answer = client.receive()
            assert answer["error"]["code"] in {-32700, -32600}, data[:40]
            assert answer.get("id") is None
            assert ("id" in answer) == (revision == "2025-03-26")
        assert client.exchange(request("after", "ping"))["id"] == "after"


@pytest.mark.parametrize(
    "place", [b'"arguments":{"text":"%b"}', b'"arguments":{"%b":1}', b'"_meta":{"%b":1}', b'"other":"%b"']
)
def test_a_request_that_is_no_utf_8_is_refused_by_its_id_wherever_that_is(place: bytes) -> None:
    call = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo",%b}}\n'
    with stdio_client() as client:
        client.send_bytes(call % (place % b"\xff"))
        answer = client.receive()
        assert (answer["id"], answer["error"]["code"]) == (7, -32700)
        client.send_bytes(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"\xff"}}\n')
        assert client.exchange(request(8, "ping"))["result"] == {}


@pytest.mark.parametrize(
    "place", [b'"arguments":{"text":"a%b"}', b'"arguments":{"%b":1}', b'"_meta":{"%b":1}', b'"other":"%b b"']
)
def test_a_request_with_half_of_a_surrogate_pair_is_refused_by_its_id_wherever_that_is(place: bytes) -> None:
    call = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo",%b}}\n'
    with stdio_client() as client:
        client.send_bytes(call % (place % b"\\ud83d"))
        answer = client.receive()
        assert (answer["id"], answer["error"]["code"]) == (7, -32700)
        assert "surrogate" in answer["error"]["message"]
        client.send_bytes(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"\\ud83d"}}\n')
        assert client.exchange(request(8, "ping"))["result"] == {}


def test_half_of_a_surrogate_pair_in_one_member_of_a_batch_leaves_the_others_alone() -> None:
    bad = b'{"jsonrpc":"2.0","id":"bad","method":"tools/call","params":{"name":"echo","arguments":{"text":"\\udc00"}}}'
    with stdio_client(revision="2025-03-26") as client:
        client.send_bytes(b'[%b,{"jsonrpc":"2.0","id":"good","method":"ping"}]\n' % bad)
        answers = {answer["id"]: answer for answer in client.receive()}
        assert answers["bad"]["error"]["code"] == -32700
        assert answers["good"]["result"] == {}


def test_ids_come_back_as_they_were() -> None:
    with stdio_client() as client:
        for request_id in (0, -1, 2**63, 10**30, "", "日本", 'quo"te', "\u2028"):
            assert client.exchange(request(request_id, "ping"))["id"] == request_id


def test_notifications_and_unasked_answers_get_no_answer() -> None:
    with stdio_client() as client:
        client.send(
            {"jsonrpc": "2.0", "method": "notifications/unheard-of"},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "none"}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}},
            {"jsonrpc": "2.0", "id": "kumi-1", "result": {}},
            {"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "x"}},
            request("last", "ping"),
        )
        assert client.receive()["id"] == "last"


def test_batches_are_served_in_the_one_revision_that_has_them() -> None:
    batch = [
        call(1, "add", {"a": 1, "b": 1}),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        call(2, "add_later", {"a": 2, "b": 2}),
        {"jsonrpc": "2.0", "id": 3, "method": "nonsense"},
        7,
        initialize(),
    ]
    with stdio_client(revision="2025-03-26") as client:
        answers = {answer["id"]: answer for answer in client.exchange(batch)}
        assert answers[1]["result"]["content"][0]["text"] == '{"sum":2}'
        assert answers[2]["result"]["content"][0]["text"] == '{"sum":4}'
        assert answers[3]["error"]["code"] == -32601
        assert answers[None]["error"]["code"] == -32600
        assert answers["init"]["error"]["code"] == -32600
        client.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}], request("next", "ping"))
        assert client.receive()["id"] == "next"
    with stdio_client(revision="2025-06-18") as client:
        assert client.exchange(batch)["error"]["code"] == -32600


def test_a_slow_call_holds_up_no_other() -> None:
    with stdio_client() as client:
        client.send(
            call("slow", "wait"), call("quick", "add", {"a": 1, "b": 2}), call("later", "add_later", {"a": 1, "b": 2})
        )
        assert client.answer_of("quick")["result"]["structuredContent"] == {"sum": 3}
        assert client.answer_of("later")["result"]["structuredContent"] == {"sum": 3}


def test_a_cancelled_call_stops_and_is_not_answered() -> None:
    with stdio_client() as client:
        client.send(call(7, "wait"))
        assert client.receive()["params"]["data"] == "waiting 7"
        client.send(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7, "reason": "enough"}},
            request(8, "ping"),
        )
        assert client.receive()["id"] == 8
        code, errors = client.finish()
        assert code == 0
        assert "cancelled 7" in errors


@pytest.mark.parametrize("warm", [False, True])
def test_a_call_that_is_cancelled_in_the_same_breath_is_not_answered(warm: bool) -> None:
    with stdio_client() as client:
        if warm:
            client.exchange(call(1, "add_later", {"a": 1, "b": 1}))
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        client.send(call(7, "quiet_wait"), cancelled, call(8, "add_later", {"a": 1, "b": 1}))
        assert client.receive()["id"] == 8
        client.send(call(9, "quiet_wait"))
        code, errors = client.finish()
        assert code == 0
        assert "never awaited" not in errors


def test_an_id_that_is_under_way_is_refused() -> None:
    with stdio_client() as client:
        client.send(call(7, "wait"), call(7, "add_later", {"a": 1, "b": 1}))
        messages = [client.receive(), client.receive()]
        assert -32600 in [message.get("error", {}).get("code") for message in messages]


def test_progress_and_logging_come_before_the_answer() -> None:
    with stdio_client() as client:
        client.send(call(1, "report", _meta={"progressToken": "p"}))
        messages = [client.receive() for _ in range(5)]
        assert [message["params"]["progress"] for message in messages[:3]] == [0, 1, 2]
        assert {message["params"]["progressToken"] for message in messages[:3]} == {"p"}
        assert messages[3]["params"] == {"level": "warning", "data": {"careful": True}, "logger": "reporter"}
        assert messages[4]["id"] == 1
        client.exchange(request(2, "logging/setLevel", level="debug"))
        client.send(call(3, "report"))
        assert [client.receive().get("params", {}).get("level") for _ in range(3)] == ["debug", "warning", None]


def test_stateless_requests_log_only_when_they_name_a_level() -> None:
    with stdio_client(revision=None) as client:
        assert client.exchange(stateless(call(1, "report")))["id"] == 1
        asked = call(2, "report", _meta={"io.modelcontextprotocol/logLevel": "debug"})
        client.send(stateless(asked))
        assert [client.receive().get("params", {}).get("level") for _ in range(3)] == ["debug", "warning", None]


def test_the_client_is_asked_by_a_request_where_there_is_a_handshake() -> None:
    with stdio_client(elicitation={}, sampling={}) as client:
        client.send(call(1, "ask_name"))
        question = client.receive()
        assert question["method"] == "elicitation/create"
        assert question["params"]["message"] == "Your name?"
        client.send(
            {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"name": "Aki"}}}
        )
        assert client.receive()["result"]["content"][0]["text"] == "accept: Aki"
        client.send(call(2, "ask_name"))
        client.send({"jsonrpc": "2.0", "id": client.receive()["id"], "error": {"code": -1, "message": "no"}})
        assert client.receive()["error"]["message"].endswith("no")
    with stdio_client() as client:
        assert client.exchange(call(1, "ask_name"))["error"]["code"] == -32600


def test_a_stateless_client_is_asked_by_a_result_and_comes_back_with_the_answers() -> None:
    able = {"elicitation": {}, "sampling": {}}
    sampled = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}
    with stdio_client(revision=None) as client:
        first = client.exchange(stateless(call(1, "ask_two"), **able))["result"]
        assert (first["resultType"], list(first["inputRequests"])) == ("input_required", ["first"])
        again = {"inputResponses": {"first": {"action": "accept", "content": {"name": "Aki"}}}}
        second = client.exchange(stateless(call(2, "ask_two", requestState=first["requestState"], **again), **able))[
            "result"
        ]
        assert sorted(second["inputRequests"]) == ["model", "second"]
        answers = {"second": {"action": "decline"}, "model": sampled, "unasked": {}}
        third = client.exchange(
            stateless(call(3, "ask_two", requestState=second["requestState"], inputResponses=answers), **able)
        )["result"]
        assert third["content"][0]["text"] == "Aki then 2"
        wrong = [
            stateless(call(4, "ask_two", requestState=second["requestState"] + "x", inputResponses=answers), **able),
            stateless(call(4, "ask_name", requestState=second["requestState"], inputResponses=answers), **able),
            stateless(call(4, "ask_two", inputResponses={"first": 5}), **able),
            stateless(call(4, "ask_two", inputResponses=None), **able),
        ]
        assert [client.exchange(message)["error"]["code"] for message in wrong] == [-32602] * 4
        unable = client.exchange(stateless(call(5, "ask_two")))["error"]
        assert unable["code"] == -32021
        assert unable["data"] == {"requiredCapabilities": {"elicitation": {}}}


def test_changes_are_told_to_clients_with_a_handshake() -> None:
    with stdio_client() as client:
        client.exchange(request(1, "resources/subscribe", uri="note://one"))
        client.send(call(2, "change"))
        messages = [client.receive() for _ in range(3)]
        assert messages[0]["method"] == "notifications/tools/list_changed"
        assert messages[1]["params"] == {"uri": "note://one"}
        client.exchange(request(3, "resources/unsubscribe", uri="note://one"))
        client.send(call(4, "change"))
        assert [client.receive().get("id") for _ in range(2)] == [None, 4]


def test_a_stateless_client_hears_what_it_listens_to() -> None:
    with stdio_client(revision=None) as client:
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["note://one"], "taskIds": []}
        refused = client.exchange(stateless(request("s", "subscriptions/listen", notifications=wanted)))
        assert refused["error"]["code"] == -32021
        del wanted["taskIds"]
        client.send(stateless(request("s", "subscriptions/listen", notifications=wanted)))
        acknowledged = client.receive()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"]["notifications"] == wanted
        client.send(stateless(call(1, "change")))
        messages = [client.receive() for _ in range(3)]
        told = [message for message in messages if "method" in message]
        assert [message["method"].rsplit("/")[-1] for message in told] == ["list_changed", "updated"]
        assert {message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for message in told} == {"s"}
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "s"}})
        client.send(stateless(call(2, "change")))
        assert client.receive()["id"] == 2
