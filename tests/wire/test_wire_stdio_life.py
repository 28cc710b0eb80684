"""How a stdio server begins and ends, and what it is beside the protocol."""

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest
from wire_clients import stdio_client
from wire_kit import BOUND, build, call, initialize, request, stateless

from kumihimo.wire.stdio_loop import serve_stdio


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_cancels_calls_and_ends_with_code_0(number: signal.Signals, busy: bool) -> None:
    with stdio_client() as client:
        if busy:
            client.send(call(1, "wait"))
            client.receive()
        client.process.send_signal(number)
        assert client.process.wait(BOUND) == 0
        assert client.process.stderr is not None
        errors = client.process.stderr.read().decode()
        assert "goodbye" in errors
        assert ("cancelled 1" in errors) == busy


def test_a_subscription_ends_with_its_result_when_the_server_does() -> None:
    with stdio_client(revision=None) as client:
        client.send(stateless(request("s", "subscriptions/listen", notifications={"toolsListChanged": True})))
        client.receive()
        client.process.send_signal(signal.SIGTERM)
        result = client.receive()
        assert result["id"] == "s"
        assert result["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "s"


@pytest.mark.parametrize("busy", [False, True])
def test_the_end_of_input_cancels_calls_and_ends_with_code_0(busy: bool) -> None:
    with stdio_client() as client:
        if busy:
            client.send(call(1, "wait"))
            client.receive()
        code, errors = client.finish()
        assert code == 0
        assert "goodbye" in errors
        assert ("cancelled 1" in errors) == busy


def test_a_client_that_stops_reading_ends_the_server() -> None:
    with stdio_client() as client:
        client.send(call(1, "wait"))
        client.receive()
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.send(*(request(number, "tools/list") for number in range(50)))
        assert client.process.wait(BOUND) == 0


def test_a_slow_reader_gets_everything_and_costs_little_memory() -> None:
    with stdio_client() as client:
        client.send(call(1, "flood", {"count": 20_000}, _meta={"progressToken": 1}))
        client.receive()
        with open(f"/proc/{client.process.pid}/status") as status:  # noqa: PTH123
            resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        assert resident < 100_000
        steps = [client.receive() for _ in range(20_000)]
        assert steps[-2]["params"]["progress"] == 19_999
        assert steps[-1]["result"]["content"][0]["text"] == "flooded"


def test_changes_that_wait_for_a_slow_reader_replace_each_other() -> None:
    with stdio_client() as client:
        client.send(call(1, "change_often"))
        told = 0
        while "id" not in (message := client.receive()):
            assert message["method"] == "notifications/tools/list_changed"
            told += 1
        assert 0 < told < 100_000


def test_work_beside_the_calls_starts_after_the_first_answer() -> None:
    with stdio_client("background") as client:
        assert client.exchange(call(1, "add", {"a": 1, "b": 2}))["result"]["structuredContent"] == {"sum": 3}
        assert client.finish()[0] == 0


def test_answering_needs_no_event_loop_and_nothing_of_http() -> None:
    forbidden = {"asyncio", "ssl", "email", "http", "uvicorn", "logging", "dataclasses", "hashlib", "socket"}
    code = (
        "import sys; sys.modules['typing_extensions'] = None\n"
        "import kumihimo.wire.stdio, kumihimo.wire.catalog\n"
        f"print(sorted({forbidden!r} & set(sys.modules)), [m for m in sys.modules if 'wire.http' in m])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=BOUND)
    assert shown.stdout.strip() == "[] []"


def test_what_a_handler_prints_does_not_reach_the_client() -> None:
    code = (
        "from kumihimo.wire.stdio import serve\nfrom kumihimo.wire.server import Server\n"
        "from kumihimo.wire.catalog import Catalog\nfrom kumihimo.wire.tool import Tool\n"
        "from kumihimo.wire.implementation import Implementation\n"
        "def loud(request, arguments):\n    print('noise', flush=True)\n    return 'quiet'\n"
        "serve(Server(Implementation('x'), Catalog([Tool(name='loud', handler=loud)])))"
    )
    sent = "".join(json.dumps(message) + "\n" for message in (initialize(), call(1, "loud")))
    shown = subprocess.run(
        [sys.executable, "-c", code], input=sent, capture_output=True, text=True, check=True, timeout=BOUND
    )
    assert [json.loads(line)["id"] for line in shown.stdout.splitlines()] == ["init", 1]
    assert "noise" in shown.stderr


def test_a_signal_ends_a_server_whose_client_does_not_read() -> None:
    with stdio_client() as client:
        # More answers than the pipe holds: the server waits in its write when the signal comes.
        client.send(*(request(number, "tools/list") for number in range(200)))
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(BOUND) == 0


def test_a_line_can_be_served_inside_a_loop_that_is_already_there() -> None:
    async def test() -> None:
        reader, feeder = os.pipe()
        output, writer = os.pipe()
        serving = asyncio.ensure_future(serve_stdio(build(), most_message_bytes=10_000, reader=reader, writer=writer))
        sent = (initialize(), call(1, "add_later", {"a": 1, "b": 2}))
        os.write(feeder, b"".join(json.dumps(message).encode() + b"\n" for message in sent))
        received = b""
        while received.count(b"\n") < 2:
            received += await asyncio.to_thread(os.read, output, 1 << 16)
        os.close(feeder)
        async with asyncio.timeout(BOUND):
            await serving
        for descriptor in (reader, output, writer):
            os.close(descriptor)
        assert json.loads(received.split(b"\n")[1])["result"]["structuredContent"] == {"sum": 3}

    asyncio.run(test())
