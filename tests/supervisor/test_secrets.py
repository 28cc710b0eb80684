"""What an agent was trusted with is in nothing that is kept of it, however it ended, and whoever saw it end."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable

import pytest

from kumihimo.domain.execution import Execution

from .conftest import MakeHome
from .home import Home
from .patience import until

KEY = "sk-live-0123456789abcdefghij"
# What it prints of its key and of its own token; and the same as it may be kept.
_LEAK = "key={{env:SHOP_API_KEY}} token={{env:KUMI_RUN_TOKEN}} end"


def complete(home: Home, run: Execution) -> str:
    (home.folder / "gate").touch()
    return "completed"


def stop(home: Home, run: Execution) -> str:
    home.board.executions.stop(run.id)
    return "cancelled"


def lose(home: Home, run: Execution) -> str:
    wrapper = until(home.run_folder(run).wrapper, "the wrapper")
    os.kill(wrapper.pid, signal.SIGKILL)
    return "lost"


def take_over(home: Home, run: Execution) -> str:
    """The token is known to nobody then."""
    home.kill(home.processes[-1])
    (home.folder / "gate").touch()
    home.supervisor()
    return "completed"


def begin(home: Home) -> tuple[Execution, str]:
    """A run that has told everything once and waits, and its token."""
    script = home.script("leaky").say(_LEAK).errors(_LEAK + "\n").note("told").wait(home.folder / "gate")
    (run,) = home.run(script.say(_LEAK).errors(_LEAK + "\n"))
    home.until_records("note", 1)
    (start,) = home.records("start")
    return run, start["environment"]["KUMI_RUN_TOKEN"]


@pytest.mark.parametrize("end", [complete, stop, lose, take_over])
def test_no_file_of_a_home_holds_a_secret_that_an_agent_printed(
    make_home: MakeHome, end: Callable[[Home, Execution], str]
) -> None:
    home = make_home(environment={"SHOP_API_KEY": KEY})
    home.supervisor()
    run, token = begin(home)
    status = end(home, run)
    assert home.ended([run])[0].status == status
    kept = f"key={'*' * len(KEY)} token={'*' * len(token)} end"
    times = 2 if status == "completed" else 1
    folder = home.run_folder(run)
    assert folder.out.read_text().count(kept) == times
    # The shell may have a last word there, on how it was ended.
    assert folder.err.read_text().startswith(f"{kept}\n" * times)
    assert [line for line in home.lines(run) if kept in line] != []
    assert home.seen(run).last_message == kept
    until(lambda: not home.alive(), "the end of its processes")
    # The settings are the user's own, and hold the key by design.
    files = [file for file in home.place.rglob("*") if file.is_file() and file.name != "config.toml"]
    assert [file for file in files if KEY.encode() in file.read_bytes()] == []
    assert [file for file in files if token.encode() in file.read_bytes()] == []


def test_a_secret_is_not_shown_before_it_was_looked_for(make_home: MakeHome) -> None:
    home = make_home(environment={"SHOP_API_KEY": KEY})
    home.supervisor()
    run, token = begin(home)
    until(lambda: home.seen(run).lines == 3, "the lines")
    shown = "\n".join(home.board.outputs.read(run.id, None, None).lines)
    assert "key=****" in shown
    assert KEY not in shown
    assert token not in shown


def test_a_secret_that_comes_in_two_halves_is_struck_out(make_home: MakeHome) -> None:
    home = make_home(environment={"SHOP_API_KEY": KEY})
    home.supervisor()
    gate = home.folder / "gate"
    (run,) = home.run(home.script("leaky").half_line(KEY * 5, until=gate))
    until(lambda: home.run_folder(run).out.exists() and b"sk-live" in home.run_folder(run).out.read_bytes(), "a half")
    gate.touch()
    assert home.ended([run])[0].status == "completed"
    assert KEY.encode() not in home.run_folder(run).out.read_bytes()
    assert home.seen(run).last_message == "*" * len(KEY * 5)


def test_a_secret_on_the_border_of_what_is_read_at_once_is_struck_out(make_home: MakeHome) -> None:
    home = make_home(environment={"SHOP_API_KEY": KEY})
    home.supervisor()
    # Bytes that are read together end at a megabyte.
    fill = "x" * ((1 << 20) - len(KEY) // 2)
    (run,) = home.run(home.script("leaky").errors(f"{fill}{KEY}\n").raw(f"{fill}{KEY}\n".encode()))
    home.ended([run])
    for file in (home.run_folder(run).out, home.run_folder(run).err):
        assert KEY.encode() not in file.read_bytes()
        assert b"*" * len(KEY) in file.read_bytes()


def test_the_folder_of_a_run_is_for_its_owner_alone(home: Home) -> None:
    home.supervisor()
    (run,) = home.run(home.script("one").say("hello"), role="claude-code")
    home.ended([run])
    folder = home.run_folder(run).path
    private = [place for place in (folder.parent, folder, *folder.rglob("*")) if place.is_dir()]
    assert {stat.S_IMODE(place.stat().st_mode) for place in private} == {0o700}
    for name in ("in", "out", "err"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    settings = [file for file in (folder / "private").rglob("*") if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in settings} <= {0o600}
