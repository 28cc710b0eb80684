"""Checks: commands that behave as badly as commands do."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from kumihimo.domain.proof import CheckResult
from kumihimo.engine.processes import checks, identity
from kumihimo.engine.processes.checks import OUTPUT_BYTES, run_checks

# So much that no test ever waits for it: what is waited for are ends.
AMPLE = 120.0
BOUND_SECONDS = 60.0
T = TypeVar("T")


def until(look: Callable[[], T | None], what: str) -> T:
    end = time.monotonic() + BOUND_SECONDS
    while not (found := look()):
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.01)
    return found


def one(command: str, folder: Path, seconds: float = AMPLE, **options: object) -> CheckResult:
    (result,) = run_checks([command], folder, seconds=seconds, **options)  # type: ignore[arg-type]
    return result


class Time:
    """A clock whose time is up as soon as something has happened, however long that takes."""

    def __init__(self, come: Callable[[], bool]) -> None:
        self._come = come

    def monotonic(self) -> float:
        return time.monotonic() + (2 * AMPLE if self._come() else 0.0)


@pytest.fixture
def out_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., CheckResult]:
    def run(command: str, count: int = 1) -> CheckResult:
        """Whose time is up when so many processes have written down their number."""
        monkeypatch.setattr(checks, "time", Time(lambda: len(pids(tmp_path)) >= count))
        # Asked for a stop, it looks at the clock again and again.
        found = one(command, tmp_path, stop=lambda: False)
        monkeypatch.undo()
        return found

    return run


def python(code: str) -> str:
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


def pids(folder: Path) -> list[int]:
    """Of the processes that wrote theirs down, each into a file of its own."""
    return [int(path.read_text()) for path in folder.glob("*.pid") if path.read_text().strip()]


def require_nobody(folder: Path, count: int = 1) -> None:
    found = pids(folder)
    assert len(found) == count, "the command has started what it should"
    assert [pid for pid in found if identity.of(pid) is not None] == []


# Leaves its parent, its session and its environment behind, as a daemon does.
DAEMON = """
import os, sys, time
name, clear = sys.argv[1], sys.argv[2:] == ["clear"]
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
if clear: os.execve(sys.executable, [sys.executable, "-c",
    "import os, sys, time; open(sys.argv[1] + '.new', 'w').write(str(os.getpid()));"
    "os.rename(sys.argv[1] + '.new', sys.argv[1]); time.sleep(600)", name], {})
open(name + ".new", "w").write(str(os.getpid()))
os.rename(name + ".new", name)
time.sleep(600)
"""


def daemon(folder: Path, name: str = "daemon.pid", *words: str) -> str:
    """A command that starts a daemon and ends when that is at work."""
    script = folder / "daemon.py"
    script.write_text(DAEMON)
    return f"{sys.executable} {script} {name} {' '.join(words)} >/dev/null 2>&1; while [ ! -s {name} ]; do :; done"


def test_every_command_is_run_in_the_folder_and_each_result_is_kept(tmp_path: Path) -> None:
    heard: list[CheckResult] = []
    found = run_checks(["pwd; echo $PWD >&2", "exit 3", "touch after"], tmp_path, seconds=AMPLE, each=heard.append)
    assert [(result.status, result.exit_code, result.signal) for result in found] == [
        ("passed", 0, None),
        ("failed", 3, None),
        ("passed", 0, None),
    ]
    assert found[0].output == f"{tmp_path}\n{tmp_path}\n"
    assert (tmp_path / "after").exists()
    assert heard == found
    assert all(result.started_at is not None and result.duration_ms >= 0 for result in found)


def test_no_command_is_no_result(tmp_path: Path) -> None:
    assert run_checks([], tmp_path, seconds=AMPLE) == []


@pytest.mark.parametrize(
    ("command", "exit_code", "name"),
    [
        ("kill -9 $$", 137, "SIGKILL"),
        ("sh -c 'kill -TERM $$'; exit $?", 143, "SIGTERM"),
        ("exit 145", 145, None),
        ("no-such-program-of-anybody", 127, None),
        ("./not-executable", 126, None),
        ("if then", 2, None),
    ],
)
def test_how_a_command_ended_is_told(tmp_path: Path, command: str, exit_code: int, name: str | None) -> None:
    (tmp_path / "not-executable").write_text("echo no")
    found = one(command, tmp_path)
    assert (found.status, found.exit_code, found.signal) == ("failed", exit_code, name)


def test_a_command_that_reads_gets_nothing(tmp_path: Path) -> None:
    assert one("read line || echo nothing", tmp_path).output == "nothing\n"


def test_a_command_has_no_terminal_and_a_session_of_its_own(tmp_path: Path) -> None:
    code = "import os; print(os.getsid(0) == os.getppid() or os.getsid(0) == os.getpid(), os.getsid(0))"
    found = one(f"{python(code)}; if (: > /dev/tty) 2>/dev/null; then exit 1; fi", tmp_path)
    assert found.status == "passed"
    own, session = found.output.split()
    assert (own, int(session) != os.getsid(0)) == ("True", True)


def test_of_a_flood_the_end_is_kept(tmp_path: Path) -> None:
    found = one("yes 0123456789abcdef | head -c 50000000; echo; echo the end", tmp_path)
    assert found.status == "passed"
    assert found.output.endswith("the end\n")
    assert len(found.output.encode()) == OUTPUT_BYTES


def test_a_command_that_floods_without_an_end_is_ended_by_its_time(
    tmp_path: Path, out_of_time: Callable[..., CheckResult]
) -> None:
    found = out_of_time("(yes & yes & yes) & echo $$ > flood.pid; exec yes")
    assert (found.status, found.exit_code) == ("timed_out", None)
    assert set(found.output) <= {"y", "\n"}
    require_nobody(tmp_path)


def test_output_that_is_no_text_is_kept_as_far_as_it_is(tmp_path: Path) -> None:
    found = one(r"printf 'a\377\376\000b\303'; printf '\343\201\202' >&2", tmp_path)
    assert found.output == "a\ufffd\ufffd\ufffdb\ufffdあ"


def test_what_is_written_at_the_very_end_is_not_lost(tmp_path: Path) -> None:
    for _ in range(5):
        assert one("head -c 60000 /dev/zero | tr '\\0' x; printf last", tmp_path).output.endswith("xlast")


def test_a_command_over_its_time_is_ended_with_all_its_children(
    tmp_path: Path, out_of_time: Callable[..., CheckResult]
) -> None:
    tree = "for n in 1 2 3; do sh -c 'echo $$ > '$n'.pid; sleep 600 & wait' & done; wait"
    found = out_of_time(tree, 3)
    assert (found.status, found.exit_code, found.signal) == ("timed_out", None, None)
    require_nobody(tmp_path, 3)


def test_after_one_whose_time_was_up_the_next_has_its_turn(tmp_path: Path) -> None:
    first, second = run_checks(["sleep 600", "sleep 600; true"], tmp_path, seconds=0.5)
    assert (first.status, second.status) == ("timed_out", "timed_out")
    assert second.started_at is not None
    assert first.duration_ms >= 500


def test_one_that_does_not_end_when_asked_is_killed(tmp_path: Path, out_of_time: Callable[..., CheckResult]) -> None:
    stubborn = "trap 'echo asked' TERM HUP INT; echo $$ > stubborn.pid; while :; do sleep 600; done"
    found = out_of_time(stubborn)
    assert found.status == "timed_out"
    assert "asked" in found.output, "it had the time to end by itself"
    require_nobody(tmp_path)


def test_one_that_holds_itself_still_is_ended_too(tmp_path: Path, out_of_time: Callable[..., CheckResult]) -> None:
    assert out_of_time("echo $$ > still.pid; kill -STOP $$").status == "timed_out"
    require_nobody(tmp_path)


@pytest.mark.parametrize("words", [(), ("clear",)], ids=["daemon", "daemon with an empty environment"])
@pytest.mark.parametrize(("then", "status"), [("exit 0", "passed"), ("exit 1", "failed")])
def test_a_daemon_ends_with_its_command(tmp_path: Path, words: tuple[str, ...], then: str, status: str) -> None:
    assert one(f"{daemon(tmp_path, 'daemon.pid', *words)}; {then}", tmp_path).status == status
    require_nobody(tmp_path)


@pytest.mark.parametrize("words", [(), ("clear",)], ids=["daemon", "daemon with an empty environment"])
def test_a_daemon_ends_with_a_command_whose_time_is_up(
    tmp_path: Path, words: tuple[str, ...], out_of_time: Callable[..., CheckResult]
) -> None:
    found = out_of_time(f"{daemon(tmp_path, 'daemon.pid', *words)}; sleep 600")
    assert found.status == "timed_out"
    require_nobody(tmp_path)


def test_what_stays_in_the_background_and_holds_the_output_does_not_hold_the_check(tmp_path: Path) -> None:
    found = one("(trap '' TERM; exec sleep 600) & echo $! > child.pid; echo done", tmp_path)
    assert (found.status, found.output) == ("passed", "done\n")
    require_nobody(tmp_path)


def test_processes_that_start_others_all_the_time_are_caught(tmp_path: Path) -> None:
    """Each lives for a moment and leaves another one behind."""
    code = (
        "import os, time\n"
        "open('first.pid', 'w').write(str(os.getpid()))\n"
        "for _ in range(200_000):\n"
        "    if os.fork(): os._exit(0)\n"
        "    os.setsid()\n"
        "    open('beat', 'w').write(str(time.monotonic()))\n"
    )
    (tmp_path / "runaway.py").write_text(code)
    command = f"{sys.executable} runaway.py & while [ ! -s beat ]; do :; done"
    assert one(command, tmp_path).status == "passed"
    last = (tmp_path / "beat").read_text()
    # Another check is run to its end meanwhile: were anything of it left, it would have written again.
    assert one("true", tmp_path).status == "passed"
    assert (tmp_path / "beat").read_text() == last


def test_a_command_that_kills_its_keeper_has_not_passed_and_leaves_nothing(tmp_path: Path) -> None:
    found = one(f"{daemon(tmp_path)}; echo $$ > shell.pid; kill -9 $PPID; sleep 600", tmp_path)
    assert (found.status, found.exit_code) == ("failed", None)
    require_nobody(tmp_path, 2)


def test_everything_ends_when_whoever_runs_the_checks_is_killed(tmp_path: Path) -> None:
    command = f"{daemon(tmp_path, 'daemon.pid', 'clear')}; echo $$ > shell.pid; trap '' TERM; sleep 600"
    code = (
        "import sys; from pathlib import Path\n"
        "from kumihimo.engine.processes.checks import run_checks\n"
        f"run_checks([sys.argv[1]], Path(sys.argv[2]), seconds={AMPLE})\n"
    )
    runner = subprocess.Popen([sys.executable, "-c", code, command, str(tmp_path)])
    until(lambda: len(pids(tmp_path)) == 2, "its work")
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    until(lambda: all(identity.of(pid) is None for pid in pids(tmp_path)), "the end of everything")


def test_a_folder_that_is_not_there_or_is_no_folder_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "gone", tmp_path / "file"):
        found = one("touch ran", folder)
        assert (found.status, found.exit_code) == ("not_run", None)
        assert str(folder) in found.output
    assert not (tmp_path / "ran").exists()


def test_a_command_that_removes_the_folder_leaves_the_next_without_one(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    first, second = run_checks([f"rm -rf {folder}", "true"], folder, seconds=AMPLE)
    assert (first.status, second.status) == ("passed", "not_run")


def test_what_can_not_be_a_command_line_is_not_run(tmp_path: Path) -> None:
    assert [one(command, tmp_path).status for command in ("echo \0", "echo " + "x" * 4_000_000)] == ["not_run"] * 2


def test_what_has_no_turn_within_the_whole_time_is_not_run(tmp_path: Path) -> None:
    found = run_checks(["sleep 600", "touch ran", "touch ran"], tmp_path, seconds=AMPLE, budget=1.0)
    assert [result.status for result in found] == ["timed_out", "not_run", "not_run"]
    assert [result.started_at is None for result in found] == [False, True, True]
    assert not (tmp_path / "ran").exists()


def test_a_stop_ends_what_runs_and_runs_nothing_more(tmp_path: Path) -> None:
    heard: list[CheckResult] = []
    found = run_checks(
        ["true", "echo $$ > asked.pid; echo begun; sleep 600", "touch ran"],
        tmp_path,
        seconds=AMPLE,
        stop=lambda: bool(pids(tmp_path)),
        each=heard.append,
    )
    assert [result.status for result in found] == ["passed", "not_run", "not_run"]
    assert heard == found
    assert not (tmp_path / "ran").exists()
    require_nobody(tmp_path)


def test_neither_our_tokens_nor_what_git_was_told_reach_a_command(tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "KUMI_TOKEN": "t1",
        "KUMI_RUN_TOKEN": "t2",
        "KUMI_RUN": "exec_1",
        "KUMI_NURSERY": "1",
        "KUMI_AGENT_PASSKEY": "t3",
        "KUMI_HOME": "/srv/kumi",
        "GIT_DIR": "/elsewhere",
        "GIT_INDEX_FILE": "/elsewhere/index",
        "OWN": "kept",
    }
    names = {
        line.partition("=")[0]: line.partition("=")[2]
        for line in one("env", tmp_path, environment=environment).output.splitlines()
    }
    assert {name for name in names if name.startswith("GIT_")} == set()
    assert (names["OWN"], names["KUMI_HOME"]) == ("kept", "/srv/kumi")
    assert names.pop("KUMI_RUN") != "exec_1"
    assert {name for name in names if name.startswith("KUMI_")} == {"KUMI_HOME"}


def test_without_an_environment_they_have_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN", "ours")
    monkeypatch.setenv("KUMI_RUN_TOKEN", "secret")
    assert one("echo $OWN$KUMI_RUN_TOKEN", tmp_path).output == "ours\n"


def test_secrets_are_struck_out_also_on_the_border_of_what_is_kept(tmp_path: Path) -> None:
    secret = b"correct-horse-battery"

    def mask(text: bytes) -> bytes:
        return text.replace(secret, b"*" * len(secret))

    ours = "kexe_" + "a" * 32
    found = one(f"printf '{secret.decode()} %4085s {ours}' end", tmp_path, mask=mask)
    assert not re.search("correct|horse|battery|kexe", found.output)
    assert found.output.endswith(" end " + "*" * 37)


def test_a_supervisor_of_many_files_can_still_run_checks(tmp_path: Path) -> None:
    """Descriptors above 1,024 are none of select's."""
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_100)]
    try:
        assert one("echo yes", tmp_path).output == "yes\n"
    finally:
        for descriptor in held:
            os.close(descriptor)


def test_no_descriptor_and_no_zombie_is_left(tmp_path: Path) -> None:
    before = sorted(path.name for path in Path("/proc/self/fd").iterdir()), _children()
    run_checks(["true", "sleep 600 & true", "sleep 600", "echo \0"], tmp_path, seconds=1.0)
    assert (sorted(path.name for path in Path("/proc/self/fd").iterdir()), _children()) == before


def _children() -> set[str]:
    """Of this process, zombies included; other tests may have left theirs."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
