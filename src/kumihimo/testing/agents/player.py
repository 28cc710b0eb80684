# pathlib costs more than the rest of a start.
# ruff: noqa: PTH100, PTH109
"""Plays a script in the voice of one CLI. The manual is in `scripted_agent.py`."""

from __future__ import annotations

import os
import sys
import time

from kumihimo.testing.agents import arguments, files, processes
from kumihimo.testing.agents.files import append, write_all
from kumihimo.testing.agents.placeholders import Placeholders
from kumihimo.testing.agents.voice import STDERR, STDOUT, Answer, Call, Usage, Voice, hang
from kumihimo.testing.agents.voices import VOICES, voice_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from kumihimo.testing.agents.mcp_call import Connection

# The script itself is wrong.
BAD_SCRIPT = 64
_FLOOD = 256


class Player:
    def __init__(self, client: str, given: list[str], script: dict[str, Any], prompt: str) -> None:
        self.client = client
        self.given = given
        self.script = script
        self.prompt = prompt
        self.name: str = script.get("name", client)
        kind = voice_of(client)
        session = arguments.resumed(client, kind, given) or script.get("session")
        model = script.get("model") or arguments.option(given, ("--model", "-m"))
        self.voice: Voice = kind(os.getcwd(), prompt, model, session)
        self.voice.before = Usage(script.get("before"))
        self.voice.used = Usage(script.get("usage", {"input": 100, "output": 20}))
        self.values = Placeholders(prompt, {"name": self.name, "cwd": os.getcwd(), "session": self.voice.session})
        self._connection: Connection | None = None
        self._exit_code_on_term = self.voice.exit_code_on_term
        self._seconds_on_term = 0.0

    def play(self) -> NoReturn:
        self._record_start()
        if self._exit_code_on_term is not None:
            processes.on_term(self._on_term)
        if self.script.get("opening", True):
            self.voice.opening()
        for step in self.script.get("steps", [{"do": "say", "text": "Hello from the scripted agent."}]):
            play = getattr(self, "_do_" + str(step.get("do")), None)
            if play is None:
                write_all(STDERR, f"scripted agent: no such step: {step}\n".encode())
                self.end(BAD_SCRIPT)
            play(self.values.filled(step))
        if self.script.get("end", "finish") == "finish":
            self.voice.finish()
        self.end(self.script.get("exit", 0))

    def end(self, code: int) -> NoReturn:
        self.record("end", code=code)
        # At once: nothing is left to be cleared up, and Python's own end takes as long as a start.
        os._exit(code)

    # Records.

    def record(self, event: str, **about: Any) -> None:
        """One line in the log, where the script has one."""
        if log := self.script.get("log"):
            pid = os.getpid()
            who = {"event": event, "name": self.name, "pid": pid, "ticks": files.start_ticks(pid)}
            append(log, {**who, "time": time.time(), "monotonic": time.monotonic(), **about})

    def _record_start(self) -> None:
        if "log" not in self.script:
            return
        names = self.script.get("environment")
        wanted = {
            name: value for name, value in os.environ.items() if (name in names if names else name.startswith("KUMI"))
        }
        self.record(
            "start", client=self.client, argv=self.given, cwd=os.getcwd(), environment=wanted, prompt=self.prompt,
            session=self.voice.session, group=os.getpgrp(),
        )  # fmt: skip

    # Steps: what is said.

    def _do_say(self, step: dict[str, Any]) -> None:
        self.voice.say(step["text"])

    def _do_lines(self, step: dict[str, Any]) -> None:
        """`{n}` is the number of the line, `{t}` the time on the clock that all processes share."""
        count: int = step["count"]
        every: float = step.get("every", 0.0)
        text: str = step.get("text", "line {n}")
        started = time.monotonic()
        batch: list[bytes] = []
        pattern = self.voice.message(text)
        cut = "{n}" in text and b"{n}" not in pattern
        for number in range(1, count + 1):
            if every and (rest := started + (number - 1) * every - time.monotonic()) > 0:
                time.sleep(rest)
            line = self.voice.message(text.replace("{n}", str(number))) if cut else pattern
            batch.append(line.replace(b"{n}", b"%d" % number).replace(b"{t}", b"%.6f" % time.monotonic()))
            if every or len(batch) == _FLOOD or number == count:
                write_all(STDOUT, b"".join(batch))
                batch.clear()
        self.voice.last_text = text.replace("{n}", str(count))

    def _do_long_line(self, step: dict[str, Any]) -> None:
        self.voice.say("x" * step["size"])

    def _do_half_line(self, step: dict[str, Any]) -> None:
        data = self.voice.message(step["text"])
        write_all(STDOUT, data[: len(data) // 2])
        if "until" in step:
            self._do_wait({"path": step["until"]})
        time.sleep(step.get("seconds", 0.0))
        write_all(STDOUT, data[len(data) // 2 :])
        self.voice.last_text = step["text"]

    def _do_raw(self, step: dict[str, Any]) -> None:
        if "base64" in step:
            from binascii import a2b_base64

            write_all(STDOUT, a2b_base64(step["base64"]))
        else:
            write_all(STDOUT, step["text"].encode())

    def _do_errors(self, step: dict[str, Any]) -> None:
        write_all(STDERR, step["text"].encode())

    # Steps: what is done.

    def _do_tool(self, step: dict[str, Any]) -> None:
        call = Call("tool", step["name"], step.get("arguments", {}))
        self.voice.call(call)
        self.voice.answer(call, Answer(step.get("ok", True), step.get("result", "")))

    def _do_write(self, step: dict[str, Any]) -> None:
        path = os.path.abspath(step["path"])
        call = Call("write", "write", {"text": step["text"]}, path=path, created=not files.exists(path))
        self._change(step, call, step["text"])

    def _do_edit(self, step: dict[str, Any]) -> None:
        path = os.path.abspath(step["path"])
        call = Call("edit", "edit", {"old": step["old"], "new": step["new"]}, path=path)
        before = files.read_text(path)
        self._change(step, call, before.replace(step["old"], step["new"], 1))

    def _change(self, step: dict[str, Any], call: Call, text: str) -> None:
        """`ok: false` is a change that is refused; `told: false` one that the stream does not show."""
        ok: bool = step.get("ok", True)
        told: bool = step.get("told", True)
        if told:
            self.voice.call(call)
        if ok:
            files.write_text(call.path, text)
        if told:
            self.voice.answer(call, Answer(ok, "" if ok else "permission denied"))

    def _do_shell(self, step: dict[str, Any]) -> None:
        call = Call("shell", "shell", {"command": step["command"]})
        self.voice.call(call)
        code, output = processes.run_shell(step["command"], step.get("own_session", False))
        self.voice.answer(call, Answer(code == 0, output, code))

    def _do_mcp(self, step: dict[str, Any]) -> None:
        from kumihimo.testing.agents.mcp_call import Connection
        from kumihimo.testing.agents.servers import find

        server = find(self.client, self.given, step.get("server"))
        tool: str = step["tool"]
        call = Call("mcp", tool, step.get("arguments", {}), server=server.name if server else "kumihimo")
        self.voice.call(call)
        ok, text = False, "no MCP server was given"
        if server is not None:
            self._connection = self._connection or Connection(server)
            ok, text = self._connection.call(tool, call.arguments, step.get("seconds", 0.0))
        self.values.remember(tool, text)
        self.record("mcp", tool=tool, arguments=call.arguments, ok=ok, answer=text)
        self.voice.answer(call, Answer(ok, text))

    def _do_use(self, step: dict[str, Any]) -> None:
        self.voice.used.add(Usage(step))

    def _do_note(self, step: dict[str, Any]) -> None:
        self.record("note", text=step["text"])

    # Steps: time and processes.

    def _do_sleep(self, step: dict[str, Any]) -> None:
        time.sleep(step["seconds"])

    def _do_wait(self, step: dict[str, Any]) -> None:
        if not files.wait_for(step["path"], step.get("seconds")):
            write_all(STDERR, f"scripted agent: {step['path']} did not come\n".encode())
            self.end(BAD_SCRIPT)

    def _do_touch(self, step: dict[str, Any]) -> None:
        files.write_text(step["path"], step.get("text", ""))

    def _do_child(self, step: dict[str, Any]) -> None:
        processes.leave_behind(step, self.record)

    _do_daemon = _do_child

    def _do_ignore_term(self, step: dict[str, Any]) -> None:
        for name in step.get("signals", ["TERM"]):
            processes.ignore(processes.signal_number(name))

    def _do_trap_term(self, step: dict[str, Any]) -> None:
        self._exit_code_on_term = step.get("exit", 143)
        self._seconds_on_term = step.get("seconds", 0.0)
        processes.on_term(self._on_term)

    def _on_term(self) -> None:
        self.record("term")
        time.sleep(self._seconds_on_term)
        self.end(self._exit_code_on_term or 0)

    # Steps: the end.

    def _do_hang(self, _step: dict[str, Any]) -> None:
        hang()

    def _do_fail(self, step: dict[str, Any]) -> None:
        kind: str = step.get("kind", "error")
        message: str = step.get("message", f"scripted {kind}")
        code = self.voice.fail(kind, message, step.get("resets_in"))
        self.end(self.script.get("exit", code))

    def _do_exit(self, step: dict[str, Any]) -> None:
        self.end(step.get("code", 0))

    def _do_die(self, step: dict[str, Any]) -> None:
        number = processes.signal_number(step.get("signal", "KILL"))
        self.record("end", signal=number)
        processes.die_of(number)
        self._do_hang(step)


def main(argv: list[str]) -> NoReturn:
    """`--as CLIENT [--script FILE] [--log FILE] [--] what the CLI would get`"""
    own, given = _split(argv)
    client = own.get("--as", "")
    if client not in VOICES:
        write_all(STDERR, f"scripted agent: --as is one of {', '.join(VOICES)}\n".encode())
        sys.exit(BAD_SCRIPT)
    if given[:1] in (["--version"], ["-v"], ["version"]):
        write_all(STDOUT, voice_of(client).version.encode() + b"\n")
        sys.exit(0)
    if given[:1] in (["models"], ["--list-models"]):
        write_all(STDOUT, voice_of(client).default_model.encode() + b"\n")
        sys.exit(0)
    prompt = arguments.prompt_of(given)
    script = arguments.script_in(prompt, given)
    if script is None:
        script = arguments.script_file(own["--script"]) if "--script" in own else {}
    if "--log" in own:
        script.setdefault("log", own["--log"])
    Player(client, given, script, prompt).play()


def _split(argv: list[str]) -> tuple[dict[str, str], list[str]]:
    """Our own options, which come first, and the rest."""
    own: dict[str, str] = {}
    place = 0
    while argv[place : place + 1] and argv[place] in ("--as", "--script", "--log") and place + 1 < len(argv):
        own[argv[place]] = argv[place + 1]
        place += 2
    if argv[place : place + 1] == ["--"]:
        place += 1
    return own, argv[place:]
