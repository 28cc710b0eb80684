"""A server on stdio that does what none should: `python bad_peer.py MODE`. It greets as 2025-11-25 does."""

import json
import os
import signal
import sys


def say(text: str) -> None:
    os.write(1, text.encode())


def answer(request: dict, **fields: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": fields}) + "\n"


def greet(request: dict, version: str = "2025-11-25") -> None:
    if request["method"] == "initialize":
        info = {"name": "bad", "version": "1"}
        say(answer(request, protocolVersion=version, capabilities={}, serverInfo=info))
    else:
        say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "what?"}}) + "\n")


# Answers to the call with this id that only just can't be read, or only just can.
CROOKED = {
    "bad-utf-8": b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\xff"}]}}',
    "lone-surrogate": b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\\ud800"}]}}',
    "not-a-number": b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"n":NaN}}}',
    "fraction-id": b'{"jsonrpc":"2.0","id":%d.0,"result":{"content":[]}}',
    "neither": b'{"jsonrpc":"2.0","id":%d}',
    "null-error": b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"null-error"}]},"error":null}',
    "control-character": b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a\x01b"}]}}',
    "unknown-escape": b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\\q"}]}}',
    "nested": b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":'
    + b"[" * 5000
    + b"]" * 5000
    + b"}}",
    "long-and-no-number": b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"n":NaN,"x":"' + b"x" * 2_000_000 + b'"}}',
    "byte-order-mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"byte-order-mark"}]}}',
}


def called(mode: str, request: dict) -> None:
    text = [{"type": "text", "text": "late" if mode == "echo" else mode}]
    if mode == "garbage":
        say('Config: loaded\n\n{not json\n[1,2\n\x00\xff null\n"text"\n42\n[]\n[[]]\n')
        say(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}) + "\n")
        say(answer(request, content=text))
    elif mode == "half":
        print("the last words", file=sys.stderr, flush=True)
        say(answer(request, content=text)[:20])
        sys.exit(3)
    elif mode == "wrong-ids":
        for wrong in (request["id"] + 1000, -1, "x", None, 1.5, True, [1]):
            say(
                json.dumps({"jsonrpc": "2.0", "id": wrong, "result": {"content": [{"type": "text", "text": "wrong"}]}})
                + "\n"
            )
        say(json.dumps({"jsonrpc": "2.0", "id": str(request["id"]), "result": {"content": text}}) + "\n")
    elif mode == "huge":
        huge = "x" * 3_000_000
        say(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": huge}}) + "\n")
        say(json.dumps({"jsonrpc": "2.0", "id": "q1", "method": "sampling/createMessage", "params": huge}) + "\n")
        say(huge + "\n")
        say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"content": text}}) + "\n")
    elif mode == "beyond-measure":
        huge = {"content": [{"type": "text", "text": '"id":1}' * 1_000_000}]}
        before, after = {"id": request["id"], "result": huge}, {"result": huge, "id": str(request["id"])}
        say(json.dumps({"jsonrpc": "2.0", **before} if request["params"]["name"] == "before" else after) + "\n")
    elif mode in CROOKED:
        os.write(1, CROOKED[mode] % request["id"] + b"\n")
    elif mode == "malformed":
        say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": "no object"}) + "\n")
    elif mode == "ping":
        say(json.dumps({"jsonrpc": "2.0", "id": "p1", "method": "ping"}) + "\n")
        say(json.dumps({"jsonrpc": "2.0", "id": "r1", "method": "roots/list"}) + "\n")
        pong, roots = (json.loads(sys.stdin.readline()) for _ in range(2))
        say(answer(request, content=[{"type": "text", "text": f"{pong['result']} {roots['error']['code']}"}]))
    elif mode == "pings":
        while True:
            say('{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 1000)
    elif mode in ("batch", "unasked-batch", "brackets"):
        one = answer(request, content=text).strip()
        say("[" + (f"{one},{one}" if mode == "unasked-batch" else one) + "]\n")
    elif mode == "mute":
        os.close(1)
        signal.pause()
    elif mode == "long-batch":
        say("[" + "1," * 2_000_000 + "1]\n" + answer(request, content=text))
    elif mode == "deaf":
        signal.pause()
    elif mode == "pages":
        say(answer(request, tools=[{"name": "again"}], nextCursor="the same"))
    elif mode != "silent":
        say(answer(request, content=text))


def main(mode: str) -> None:
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "dies-at-once":
        sys.exit("no database")
    while line := sys.stdin.readline():
        request = json.loads(line)
        if mode == "proud" and request["method"] == "server/discover":
            sys.exit(1)
        if request["method"] in ("initialize", "server/discover"):
            greet(request, "2025-03-26" if mode == "batch" else "2025-11-25")
        elif "id" in request:
            called(mode, request)
        elif request["method"] == "notifications/cancelled":
            # Shown to whoever asks next.
            print(f"cancelled {request['params']['requestId']}", file=sys.stderr, flush=True)
    if mode == "stubborn":
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1])
