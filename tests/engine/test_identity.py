from __future__ import annotations

import os
import signal
import subprocess
import sys

from msgspec.structs import replace

from kumihimo.engine.processes import identity


def test_this_process_is_not_dead() -> None:
    assert not identity.proven_dead(identity.current())


def test_a_process_that_was_killed_is_proven_dead_also_while_it_is_a_zombie() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = identity.of(child.pid)
    assert process is not None
    assert not identity.proven_dead(process)
    os.kill(child.pid, signal.SIGKILL)
    # Dead and not yet waited for: its pid is still in use.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert identity.proven_dead(process)
    child.communicate()
    assert identity.proven_dead(process)


def test_a_pid_that_was_given_out_again_is_another_process() -> None:
    mine = identity.current()
    assert identity.proven_dead(replace(mine, start_ticks=mine.start_ticks - 1))


def test_after_a_reboot_everything_from_before_is_dead() -> None:
    assert identity.proven_dead(replace(identity.current(), boot_id="another"))


def test_what_runs_on_another_host_is_never_proven_dead_from_here() -> None:
    assert not identity.proven_dead(replace(identity.current(), host="another", boot_id="another", pid=1))
