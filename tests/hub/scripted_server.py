"""An MCP server on stdio that does as its script says: `python scripted_server.py SCRIPT.json`.

The script has `tools` (each with what it `does`), `log` (a file with one line for each call that arrived), and may have
`prompts`, `resources`, `templates`, `server` (its name), `greeting` (a file to wait for, or "never") and `lists`. It speaks
2025-11-25, or with `stateless` 2026-07-28, with nothing but the standard library, so that it starts fast.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time

SCRIPT = json.loads(open(sys.argv[1]).read())  # noqa: PTH123, SIM115
VERSION = "2026-07-28" if SCRIPT.get("stateless") else "2025-11-25"


def say(message: dict) -> None:
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def log(line: str) -> int:
    """Write it down, and tell how often it was."""
    with open(SCRIPT["log"], "a+") as file:  # noqa: PTH123
        file.write(line + "\n")
        file.flush()
        file.seek(0)
        return file.read().splitlines().count(line)


def text(value: object) -> dict:
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}]}


def greet(request: dict) -> None:
    method = request["method"]
    capabilities = SCRIPT.get("capabilities", {"tools": {"listChanged": True}, "prompts": {}, "resources": {}})
    info = {"name": SCRIPT.get("server", "scripted"), "version": "7"}
    if SCRIPT.get("greeting") == "never":
        return
    if "greeting" in SCRIPT:
        until(SCRIPT["greeting"])
    if method == "server/discover" and SCRIPT.get("stateless"):
        result = {"supportedVersions": [VERSION], "capabilities": capabilities, "resultType": "complete"}
        say({"id": request["id"], "result": result})
    elif method == "initialize" and not SCRIPT.get("stateless"):
        say(
            {
                "id": request["id"],
                "result": {"protocolVersion": VERSION, "capabilities": capabilities, "serverInfo": info},
            }
        )
    else:
        say({"id": request["id"], "error": {"code": -32601, "message": "what?"}})


def until(path: str) -> None:
    while not os.path.exists(path):  # noqa: PTH110
        time.sleep(0.005)


def attempt(what: str, where: object) -> str:
    """How far it gets: for servers that may not reach everything."""
    try:
        if what == "read":
            return open(where).read()  # noqa: PTH123
        if what == "list":
            return " ".join(sorted(os.listdir(where)))  # noqa: PTH208
        if what == "write":
            with open(where, "w") as file:  # noqa: PTH123
                file.write("written")
        elif what == "connect":
            socket.create_connection(("127.0.0.1", where), 10).close()
    except OSError as error:
        return type(error).__name__
    return "done"


def call(request: dict) -> None:
    name, arguments = request["params"]["name"], request["params"].get("arguments", {})
    tool = next(tool for tool in SCRIPT["tools"] if tool["name"] == name)
    does = tool.get("does", "echo")
    number = request["id"]
    times = log(f"call {name}")
    if does == "crash" and times <= tool.get("times", 10**9):
        print("the last words", file=sys.stderr, flush=True)
        os._exit(3)
    elif does == "wait":
        threading.Thread(target=lambda: (until(tool["file"]), say({"id": number, "result": text("waited")}))).start()
    elif does == "error":
        say({"id": number, "result": {**text("the tool itself failed"), "isError": True}})
    elif does == "rpc":
        say({"id": number, "error": {"code": tool["code"], "message": "no"}})
    elif does == "garbage":
        os.write(1, b'hello\n{"half":\n[[1]]\nnull\n\xff\xfe\n')
        say({"id": number, "result": text("after garbage")})
    elif does == "shapeless":
        say({"id": number, "result": {"content": 5, "isError": "perhaps"}})
    elif does == "twice":
        say({"id": number, "result": text("first")})
        say({"id": number, "result": text("second")})
    elif does == "huge":
        say({"id": number, "result": text("x" * tool["size"])})
    elif does == "last":
        say({"id": number, "result": text("answered and gone")})
        os._exit(0)
    elif does == "count":
        say({"id": number, "result": {**text(str(times)), **tool.get("more", {})}})
    elif does == "structured":
        say({"id": number, "result": {**text("for people"), "structuredContent": {"n": times}}})
    elif does == "environment":
        say({"id": number, "result": text({"env": dict(os.environ), "cwd": os.getcwd()})})  # noqa: PTH109
    elif does == "meta":
        log(f"traceparent {request['params'].get('_meta', {}).get('traceparent')}")
        say({"id": number, "result": text("noted")})
    elif does == "attempt":
        say({"id": number, "result": text(attempt(arguments["what"], arguments["where"]))})
    elif does == "flood":
        os.write(1, b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n' * tool["size"])
        say({"id": number, "result": text("dry again")})
    elif does == "change":
        SCRIPT["tools"].append({"name": arguments["name"]})
        say({"method": "notifications/tools/list_changed"})
        say({"id": number, "result": text("changed")})
    elif does == "progress":
        token = request["params"].get("_meta", {}).get("progressToken")
        for step in (1, 2):
            say({"method": "notifications/progress", "params": {"progressToken": token, "progress": step, "total": 2}})
        say({"id": number, "result": text("done")})
    elif does == "ask":
        # Answered when the answer to this comes.
        question = {"message": "Which one?", "requestedSchema": {"type": "object", "properties": {}}}
        say({"id": f"q{number}", "method": "elicitation/create", "params": question})
    elif does == "child":
        child = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        say({"id": number, "result": text([os.getpid(), child.pid])})
    elif does != "never":
        say({"id": number, "result": text({"tool": name, "arguments": arguments})})


def offer(request: dict) -> None:
    method, params, number = request["method"], request.get("params", {}), request["id"]
    hidden = ("does", "times", "file", "code", "size", "more")
    if method == "tools/list":
        log("list")
        if SCRIPT.get("lists") == "never":
            return
        if SCRIPT.get("lists") == "hasty":
            say({"method": "notifications/tools/list_changed"})
        shown = [{"inputSchema": {"type": "object"}, **tool} for tool in SCRIPT["tools"]]
        if SCRIPT.get("lists") == "turning" and "call " in open(SCRIPT["log"]).read():  # noqa: PTH123, SIM115
            shown = [{**tool, "annotations": {}} for tool in shown]
        listed = [{k: v for k, v in t.items() if k not in hidden} for t in shown]
        say({"id": number, "result": {"tools": listed, **SCRIPT.get("listing", {})}})
        if SCRIPT.get("lists") == "restless":
            say({"method": "notifications/tools/list_changed"})
    elif method == "prompts/list":
        say({"id": number, "result": {"prompts": SCRIPT.get("prompts", [])}})
    elif method == "prompts/get":
        said = f"good day {params['arguments'].get('who')}"
        filled = {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}
        say({"id": number, "result": SCRIPT.get("filled", filled)})
    elif method == "resources/list":
        say({"id": number, "result": {"resources": SCRIPT.get("resources", [])}})
    elif method == "resources/templates/list":
        say({"id": number, "result": {"resourceTemplates": SCRIPT.get("templates", [])}})
    elif method == "resources/read":
        times = log(f"read {params['uri']}")
        if params["uri"].endswith("none"):
            say({"id": number, "error": {"code": -32002, "message": "Resource not found"}})
        else:
            contents = [{"uri": params["uri"], "text": f"read {times}"}]
            say({"id": number, "result": {"contents": contents, **SCRIPT.get("reading", {})}})
    elif method == "ping":
        say({"id": number, "result": {}})
    elif method != "subscriptions/listen":
        say({"id": number, "error": {"code": -32601, "message": "what?"}})


def main() -> None:
    log(f"start {os.getpid()}")
    while line := sys.stdin.readline():
        request = json.loads(line)
        if "method" not in request and str(request.get("id")).startswith("q"):
            say({"id": int(request["id"][1:]), "result": text(request.get("result") or request["error"]["message"])})
        if request.get("method") == "notifications/cancelled":
            log("cancelled")
        if "id" not in request or "method" not in request:
            continue
        if request["method"] in ("initialize", "server/discover"):
            greet(request)
        elif request["method"] == "tools/call":
            call(request)
        else:
            offer(request)
    if SCRIPT.get("stubborn"):
        while True:
            time.sleep(1000)


main()
