"""The scripted agent does what its script says, and leaves a record of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kumihimo.testing.scripts import CLIENTS, PROGRAMS, Script, command, install, is_alive, kill_leftovers, records
from tests.testing.runs import SECONDS, begin, run, until


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "log.jsonl"
    yield path
    kill_leftovers(path)


def end(started: subprocess.Popen[bytes]) -> int:
    started.communicate(timeout=SECONDS)
    return started.returncode


# Where the script is found.


def test_a_script_may_stand_in_a_file(tmp_path: Path) -> None:
    prompt = Script().say("From a file.").written(tmp_path / "script.json", "Read [brackets]] and do:")

    assert run("text", prompt, tmp_path).stdout == b"From a file.\n"


def test_a_script_may_stand_in_an_argument_and_stdin_stay_open(tmp_path: Path) -> None:
    prompt = Script().say("From an argument.").prompt()
    started = subprocess.Popen([*command("text"), "-p", prompt], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    assert started.stdout is not None
    assert started.stdout.read() == b"From an argument.\n"
    assert started.wait(SECONDS) == 0
    started.communicate()


def test_the_last_script_counts(tmp_path: Path) -> None:
    earlier, later = Script().say("[[earlier]]").prompt(), Script().say("later").prompt()

    assert run("text", f"The one before was told: {earlier}\n{later}\n", tmp_path).stdout == b"later\n"


def test_a_script_may_come_as_a_line_of_streamed_input(tmp_path: Path) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": Script().say("Streamed.").prompt()}]}
    line = json.dumps({"type": "user", "message": message}, separators=(",", ":"))

    assert run("text", line + "\n", tmp_path).stdout == b"Streamed.\n"


def test_a_prompt_without_a_script_gets_the_one_of_the_command(tmp_path: Path, log: Path) -> None:
    Script("default").say("By default.").written(tmp_path / "script.json")
    program = command("text", script=tmp_path / "script.json", log=log)

    done = subprocess.run(program, input=b"Go.", capture_output=True, check=True)

    assert done.stdout == b"By default.\n"
    assert [record["event"] for record in records(log, name="default")] == ["start", "end"]


@pytest.mark.parametrize("client", CLIENTS)
def test_it_can_stand_on_path_under_the_name_of_the_cli(client: str, tmp_path: Path) -> None:
    program = install(tmp_path / "bin", client)

    done = subprocess.run(
        [program.name, "--version"], env={"PATH": f"{program.parent}:/usr/bin:/bin"}, capture_output=True
    )

    assert program.name == PROGRAMS[client]
    assert done.returncode == 0
    assert done.stdout.strip()


def test_it_runs_as_a_module_too(tmp_path: Path) -> None:
    program = [command("text")[0], "-m", "kumihimo.testing.scripted_agent", "--as", "text"]

    done = subprocess.run(program, input=Script().say("Hello.").prompt().encode(), capture_output=True, check=True)

    assert done.stdout == b"Hello.\n"


def test_nothing_that_costs_is_imported_for_a_plain_run(tmp_path: Path) -> None:
    program = command("claude-code")
    program[1:1] = ["-X", "importtime"]

    done = subprocess.run(program, input=Script().say("Hello.").prompt().encode(), capture_output=True, check=True)

    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "kumihimo.testing.agents.player" in imported
    assert not imported & {
        "json",
        "re",
        "typing",
        "pathlib",
        "signal",
        "subprocess",
        "socket",
        "enum",
        "msgspec",
        "click",
    }


def test_a_step_that_is_not_known_is_said(tmp_path: Path) -> None:
    done = run("text", Script().step("dance"), tmp_path)

    assert done.returncode == 64
    assert b"dance" in done.stderr


# What it records.


def test_each_start_and_each_end_is_recorded(tmp_path: Path, log: Path) -> None:
    script = Script("worker-1", log=log, environment=["COLOUR"]).say("Hello.").note("half way")

    for _ in range(2):
        run("codex", script, tmp_path, "exec", "--json", environment={"COLOUR": "green"})

    start, note, last = [record for record in records(log) if record["pid"] == records(log)[0]["pid"]]
    assert (start["event"], note["event"], last["event"]) == ("start", "note", "end")
    assert start["argv"] == ["exec", "--json"]
    assert start["cwd"] == str(tmp_path)
    assert start["environment"] == {"COLOUR": "green"}
    assert start["prompt"] == script.prompt()
    assert start["ticks"] == last["ticks"] > 0
    assert last["code"] == 0
    assert len(records(log, "start", "worker-1")) == 2


# Time and processes.


def test_a_gate_holds_it_until_the_file_is_there(tmp_path: Path) -> None:
    here, gate = tmp_path / "here", tmp_path / "gate"
    started = begin("text", Script().say("before").touch(here).wait(gate).say("after"), tmp_path)

    until(here.exists)
    assert started.poll() is None
    gate.touch()

    assert started.communicate(timeout=SECONDS)[0] == b"before\nafter\n"


def test_half_a_line_waits_for_its_other_half(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    started = begin("claude-code", Script().half_line("two halves", until=gate), tmp_path)

    assert started.stdout is not None
    os.set_blocking(started.stdout.fileno(), False)
    seen = bytearray()

    def half() -> bool:
        seen.extend(started.stdout.read() or b"")  # pyright: ignore[reportOptionalMemberAccess]
        return b'{"type":"assistant"' in seen

    until(half)
    assert b"two halves" not in seen or not seen.endswith(b"\n")
    gate.touch()
    os.set_blocking(started.stdout.fileno(), True)
    rest = started.communicate(timeout=SECONDS)[0]

    assert json.loads((bytes(seen) + rest).splitlines()[1])["message"]["content"][0]["text"] == "two halves"


def test_a_child_stays_in_the_group_and_a_daemon_does_not(tmp_path: Path, log: Path) -> None:
    run("text", Script(log=log).child(600).daemon(600, ignore_term=True).say("done"), tmp_path)

    (child,), (daemon,), (start,) = records(log, "child"), records(log, "daemon"), records(log, "start")
    assert is_alive(child)
    assert is_alive(daemon)
    assert os.getpgid(child["pid"]) == start["group"]
    assert os.getsid(daemon["pid"]) not in (os.getsid(0), daemon["pid"])
    os.kill(child["pid"], signal.SIGTERM)
    os.kill(daemon["pid"], signal.SIGTERM)
    until(lambda: not is_alive(child))
    assert is_alive(daemon)
    assert kill_leftovers(log) == [daemon["pid"]]
    until(lambda: not is_alive(daemon))


def test_a_daemon_has_the_environment_that_the_script_says(tmp_path: Path, log: Path) -> None:
    script = Script(log=log).daemon(600, environment="keep").daemon(600, environment="clear")

    run("text", script, tmp_path, environment={"KUMI_MARK": "seven"})

    kept, cleared = [Path(f"/proc/{record['pid']}/environ").read_bytes() for record in records(log, "daemon")]
    assert b"KUMI_MARK=seven" in kept
    assert cleared == b""


def test_output_may_be_held_open_by_what_is_left_behind(tmp_path: Path, log: Path) -> None:
    started = begin("text", Script(log=log).daemon(600, holds_output=True).say("done"), tmp_path)

    assert started.wait(SECONDS) == 0
    assert started.stdout is not None
    assert started.stdout.readline() == b"done\n"
    (daemon,) = records(log, "daemon")
    assert str(Path(f"/proc/{daemon['pid']}/fd/1").readlink()).startswith("pipe:")
    kill_leftovers(log)
    started.communicate(timeout=SECONDS)


# Codex has no handler and dies of it; Claude ends with 143; Gemini ends as if all were well.
@pytest.mark.parametrize(("client", "code"), [("codex", -15), ("claude-code", 143), ("gemini-cli", 0)])
def test_term_does_what_it_does_to_the_cli(client: str, code: int, tmp_path: Path) -> None:
    here = tmp_path / "here"
    started = begin(client, Script().touch(here).hang(), tmp_path)
    until(here.exists)

    started.terminate()

    assert end(started) == code


def test_term_may_be_ignored(tmp_path: Path) -> None:
    here, gate = tmp_path / "here", tmp_path / "gate"
    started = begin("claude-code", Script().ignore_term().touch(here).wait(gate).say("still here"), tmp_path)
    until(here.exists)

    started.terminate()
    gate.touch()

    assert b"still here" in started.communicate(timeout=SECONDS)[0]
    assert started.returncode == 0


def test_term_may_take_its_time(tmp_path: Path, log: Path) -> None:
    here = tmp_path / "here"
    started = begin("codex", Script(log=log).trap_term(0.2, code=3).touch(here).hang(), tmp_path)
    until(here.exists)

    started.terminate()
    until(lambda: records(log, "term"))
    started.terminate()

    assert end(started) == 3
    assert [record["event"] for record in records(log)] == ["start", "term", "end"]


# The end.


def test_it_ends_as_it_is_told(tmp_path: Path, log: Path) -> None:
    assert run("text", Script(log=log).exit(7), tmp_path).returncode == 7
    assert run("text", Script().say("x").ends(9), tmp_path).returncode == 9
    assert run("text", Script(log=log).die("SEGV"), tmp_path).returncode == -signal.SIGSEGV
    assert run("text", Script(log=log).die(), tmp_path).returncode == -signal.SIGKILL
    ends = records(log, "end")
    assert [record.get("code", record.get("signal")) for record in ends] == [7, signal.SIGSEGV, signal.SIGKILL]


def test_stderr_is_apart(tmp_path: Path) -> None:
    done = run("codex", Script().errors("a warning\n").say("x"), tmp_path)

    assert done.stderr == b"a warning\n"
    assert b"warning" not in done.stdout


def test_a_command_runs_in_the_folder_and_may_have_its_own_session(tmp_path: Path) -> None:
    session = "cut -d' ' -f6 /proc/$$/stat"
    script = Script().shell(f"pwd; {session}").shell(f"yes | head -1; {session}", own_session=True)

    lines = run("text", script, tmp_path).stdout.decode().splitlines()

    assert lines[1] == str(tmp_path)
    assert lines[4] == "y"
    assert lines[2].strip() != lines[5].strip()
