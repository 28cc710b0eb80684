"""The supervisor of a host: one loop that sleeps until something happens."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from functools import cache

from kumihimo.domain.errors import KumihimoError, StoreError
from kumihimo.domain.execution import Execution, Stopping
from kumihimo.engine.processes.nursery import Nursery
from kumihimo.services.board import Board
from kumihimo.settings import Settings
from kumihimo.store.bell import bell_of
from kumihimo.supervisor import stopping
from kumihimo.supervisor.admission import has_room
from kumihimo.supervisor.ears import Ears
from kumihimo.supervisor.finishing import Finisher
from kumihimo.supervisor.heir import Heir
from kumihimo.supervisor.launcher import Launcher
from kumihimo.supervisor.leftovers import Leftovers
from kumihimo.supervisor.overdue import overdue
from kumihimo.supervisor.presence import RENEW_SECONDS, Presence
from kumihimo.supervisor.starter import Starter
from kumihimo.supervisor.wake import Wake
from kumihimo.supervisor.watched_run import WatchedRun

# How often streams are looked at: often for a few runs, and less so the more there are, so that many cost no more.
_LOOK_SECONDS = 0.05
_LOOK_SECONDS_PER_RUN = 0.0003
# Where many hosts share a database, each look is a transaction of one database for all of them.
_SHARED_LOOK_SECONDS = 0.2
# Among many hosts, how often at most it is written down what was seen.
CROWDED_NOTE_SECONDS = 1.0
# How often a run that is being stopped, or a queue that waits for room on the machine, is looked at.
_STOP_LOOK_SECONDS = 0.02
_ROOM_SECONDS = 0.5
_AFTER_TROUBLE_SECONDS = 0.5
_A_MOMENT = 0.01
# New shells are made ready when those that were just launched have had the machine to themselves for a moment.
_REFILL_SECONDS = 0.1
# How often we look for what is to be stopped although nobody woke us: a bell may get lost on a full disk.
_STOPS_SECONDS = 1.0


class Supervisor:
    """`host_id` is the home it works for, `url` where agents reach our MCP, `ears` those who are told what happens."""

    def __init__(self, settings: Settings, board: Board, host_id: str, name: str, url: str, ears: Ears) -> None:
        self._settings = settings
        self._board = board
        self._host_id = host_id
        self._say = ears.say
        self._ears = ears
        self._slots = settings.max_concurrent
        self._nursery = Nursery(min(self._slots, 20), settings.state_folder / "cots")
        self._launcher = Launcher(settings, self._nursery, url)
        self._leftovers = Leftovers()
        self._finisher = Finisher(board, self._leftovers, self._watch)
        self._starter = Starter(board, self._launcher, self._watch)
        self._runs: dict[str, WatchedRun] = {}
        self._by_descriptor: dict[int, WatchedRun] = {}
        self._poll = select.epoll()
        self._over = False
        self._unpark_at = float("inf")
        self._renew_at = self._claim_at = self._look_at = self._observe_at = self._stops_at = self._refill_at = 0.0
        self._ended: list[WatchedRun] = []
        shared = board.store.connection.dialect.row_locks
        self._look_seconds = _SHARED_LOOK_SECONDS if shared else _LOOK_SECONDS
        self._presence = Presence(settings, board, host_id, name, ears.say)
        self._heir = Heir(board, self._launcher, host_id, self._starter.usage_before)
        self._draining = False
        board.store.actor = "supervisor"
        self._wake = Wake(lambda: bell_of(board.store, work=True))
        for descriptor in self._wake.descriptors:
            self._poll.register(descriptor, select.EPOLLIN)

    def run(self) -> None:
        """Until `stop` is called. Runs go on without us; whoever comes next takes them over."""
        taken_over = False
        try:
            while not self._over:
                try:
                    if not taken_over:
                        self._take_over()
                        taken_over = True
                        self._mend_copies()
                    self._turn()
                except StoreError as error:
                    # A full disk, or a database that is away: nothing is lost by waiting for it.
                    self._say(f"the store can't be used: {error}")
                    time.sleep(_AFTER_TROUBLE_SECONDS)
                    self._presence.lost_touch()
                    # What we have claimed without hearing of it is found among what is ours.
                    taken_over = False
        finally:
            self._close()

    def stop(self) -> None:
        """From any thread."""
        self._over = True
        self._wake.ring()

    def drain(self) -> None:
        """From any thread: nothing new is begun here. What runs is followed as before."""
        self._draining = True
        self._renew_at = 0.0
        self._wake.ring()

    @property
    def idle(self) -> bool:
        """Whether nothing is under way here; from any thread."""
        return not (self._runs or self._starter.waiting)

    def _turn(self) -> None:
        now = time.monotonic()
        if now >= self._renew_at:
            self._renew()
            self._renew_at = now + self._presence.pause
        self._launch_claimed()
        self._finish()
        if now >= self._claim_at:
            self._claim_at = self._next_claim(more=self._claim())
        if now >= self._starter.note_at:
            self._starter.note(self._runs.values())
        if now >= self._stops_at:
            self._begin_stops()
            self._stops_at = time.monotonic() + _STOPS_SECONDS
        if now >= self._look_at:
            self._look()
            self._look_at = time.monotonic() + max(self._look_seconds, len(self._runs) * _LOOK_SECONDS_PER_RUN)
        self._leftovers.look()
        self._sleep(0.0 if self._ended else self._patience())

    def _renew(self) -> None:
        was_alone = self._presence.alone
        self._presence.renew(draining=self._draining)
        self._wake.crowded = self._presence.crowded
        if was_alone and not self._presence.alone:
            self._ears.rung(True)
        if not self._presence.crowded:
            self._note_parked()
        # A bell may have been missed, and among many none is heard.
        awaited = self._presence.awaited
        self._claim_at = 0.0 if awaited.work else self._next_claim(more=False)
        self._ears.awaited(awaited)
        self._end_overtaken()

    def _next_claim(self, *, more: bool) -> float:
        """When we look again at what waits although nobody has told us to and nothing of ours has ended."""
        now = time.monotonic()
        if more:
            return now + _ROOM_SECONDS
        soon = self._unpark_at + _A_MOMENT if self._unpark_at > now else float("inf")
        # Among many nobody tells us: we look when we say that we live, and perhaps once in between.
        alert = self._presence.crowded and self._presence.looks_between
        return min(soon, now + RENEW_SECONDS / 2) if alert else soon

    def _sleep(self, seconds: float) -> None:
        if time.monotonic() >= self._refill_at:
            self._nursery.refill()
        elif self._nursery.low and len(self._runs) < self._slots:
            # Launched again and again without a pause: one at a time then, so that there is always one for the next.
            self._nursery.refill(1)
        for descriptor, _ in self._poll.poll(seconds):
            run = self._by_descriptor.get(descriptor)
            if run is not None:
                self._unwatch(run)
                self._ended.append(run)
        if self._wake.clear():
            self._stops_at = 0.0
            self._claim_at = min(self._claim_at, time.monotonic() + self._presence.hesitation)
            if not self._presence.crowded:
                self._ears.rung(not self._presence.alone)

    def _patience(self) -> float:
        """How long nothing needs to be done unless somebody wakes us."""
        now = time.monotonic()
        waits = [self._renew_at - now, self._claim_at - now, self._starter.note_at - now]
        if self._runs:
            waits.append(self._look_at - now)
        if any(run.stopping_since is not None for run in self._runs.values()):
            waits.append(_STOP_LOOK_SECONDS)
        waits.append(self._leftovers.due - now)
        if not self._nursery.full:
            waits.append(self._refill_at - now)
        return max(0.0, min(waits))

    # Claim and launch

    def _claim(self) -> bool:
        """Start what waits, as far as there is room. True where something has to wait for the machine."""
        free = 0 if self._draining else self._slots - len(self._runs)
        if free <= 0 or not self._board.executions.waiting(self._presence.reach):
            return False
        rule = self._settings.admission
        if not has_room(rule, len(self._runs)):
            return True
        # With `auto` a few at a time: each may change how much room there is.
        limit = free if rule == "slots" else min(free, 20)
        # Nobody is woken by it: they would have a core that these agents begin on, and hear of it when the starts are noted.
        claimed = self._board.store.write(lambda _: self._claim_some(limit), ring=False)
        self._starter.expect(claimed)
        self._launch_claimed()
        if len(claimed) < limit or self._slots <= len(self._runs):
            # What others hold back, or have just claimed, is told by its end.
            return False
        return self._board.executions.waiting(self._presence.reach)

    def _claim_some(self, limit: int) -> list[tuple[Execution, str]]:
        """Claimed with the token of each, in one transaction."""
        here = self._presence
        # A folder is looked at once for all of them.
        is_folder = cache(os.path.isdir)
        claimed = self._board.executions.claim_some(
            self._host_id, limit, fits=lambda run: here.takes(run, is_folder), reach=here.reach
        )
        return self._starter.with_tokens(claimed)

    def _launch_claimed(self) -> None:
        if self._starter.launch():
            self._refill_at = time.monotonic() + _REFILL_SECONDS

    # Follow

    def _watch(self, run: WatchedRun) -> None:
        self._runs[run.id] = run
        descriptor = run.watch()
        if descriptor is None:
            self._ended.append(run)
        else:
            self._by_descriptor[descriptor] = run
            self._poll.register(descriptor, select.EPOLLIN)

    def _unwatch(self, run: WatchedRun) -> None:
        if run.pidfd is not None:
            self._by_descriptor.pop(run.pidfd, None)
            with suppress(FileNotFoundError):
                self._poll.unregister(run.pidfd)
        run.unwatch()

    def _look(self) -> None:
        """Read what is new in every stream, and write it down for all at once; then the clocks of the runs."""
        grown = [run for run in self._runs.values() if run.can_be_read and (run.follow() or run.unsaved)]
        if grown and time.monotonic() >= self._observe_at:
            self._board.executions.observe([run.observation for run in grown])
            for run in grown:
                run.note_saved()
            self._ears.streams_grew()
            self._observe_at = time.monotonic() + (CROWDED_NOTE_SECONDS if self._presence.crowded else 0.0)
        for run in list(self._runs.values()):
            if run.stopping_since is not None:
                self._go_on_stopping(run)
            elif run.execution.status == "running":
                why = overdue(run, self._settings.silence_timeout_ms, self._board.clock())
                if why is not None:
                    self._stop(run, why)

    # Stop

    def _begin_stops(self) -> None:
        """What somebody asked to be stopped."""
        if not self._runs:
            return
        for execution in self._board.executions.to_be_stopped(self._host_id):
            run = self._runs.get(execution.id)
            if run is None or run in self._ended:
                continue
            run.execution = execution
            run.at_once = execution.stopping == "killed"
            if run.stopping_since is None:
                stopping.begin(run)
                self._look_at = 0.0

    def _end_overtaken(self) -> None:
        """What was given up while we were away, and others have followed since: two agents are not to be on one task."""
        if not self._runs:
            return
        for execution in self._board.retries.overtaken(self._host_id):
            run = self._runs.get(execution.id)
            if run is not None and run.stopping_since is None and run not in self._ended:
                self._say(f"{run.id} was given up and another run has followed it: its agent is ended")
                stopping.begin(run)
                self._look_at = 0.0

    def _stop(self, run: WatchedRun, why: Stopping) -> None:
        run.execution = self._board.executions.stop(run.id, why)
        stopping.begin(run)

    def _go_on_stopping(self, run: WatchedRun) -> None:
        survivors = stopping.go_on(run)
        if survivors:
            self._say(f"{run.id}: these processes would not die: {survivors}")
            self._unwatch(run)
            self._finisher.give_up(run, survivors)
            self._forget(run)
        elif survivors is not None and run.wrapper() is None and run not in self._ended:
            self._unwatch(run)
            self._ended.append(run)

    # Finish

    def _finish(self) -> None:
        """Write down how runs ended; what can't be written stays and is tried again."""
        if not self._ended:
            return
        gone, self._ended = self._ended, []
        try:
            over = self._finisher.finish(gone)
        except StoreError:
            self._ended = gone
            raise
        for run in over:
            self._forget(run)
        if over:
            self._ears.left_behind([run.id for run in over])
            self._look_for_retries()
        if self._finisher.has_parked():
            self._note_parked()

    def _look_for_retries(self) -> None:
        """Where we are alone, nobody but us makes the place of a run that follows another."""
        if self._presence.alone and self._board.retries.waiting():
            self._ears.rung(True)

    def _note_parked(self) -> None:
        """When the next client may be used again: nobody rings for that."""
        ends = self._board.hosts.parked().values()
        left = min(((end - self._board.clock()).total_seconds() for end in ends), default=float("inf"))
        self._unpark_at = time.monotonic() + left

    def _forget(self, run: WatchedRun) -> None:
        self._runs.pop(run.id, None)
        run.close()
        # There is room for another one.
        self._claim_at = 0.0

    # Begin and end of the supervisor itself

    def _take_over(self) -> None:
        """What this home has claimed and not ended."""
        known = {*self._runs, *self._starter.waiting}
        for found in self._heir.inherit(known):
            if not isinstance(found, WatchedRun):
                self._starter.expect(self._starter.with_tokens([found]))
                continue
            self._watch(found)
            if found.execution.live and found.execution.stopping is not None and found.wrapper() is not None:
                stopping.begin(found)

    def _mend_copies(self) -> None:
        """What could not be written when a decision was made, because its folder was not there or we were elsewhere."""
        for trouble in self._board.memories.write_files():
            self._say(f"the copy of the memory bank is not up to date: {trouble}")

    def _close(self) -> None:
        with suppress(KumihimoError):
            self._starter.note(self._runs.values())
        for run in list(self._runs.values()):
            with suppress(KumihimoError):
                if run.can_be_read and run.follow():
                    self._board.executions.observe([run.observation])
            run.close()
        with suppress(KumihimoError):
            # Runs go on without us; nothing new is begun here until somebody comes back.
            self._presence.drain()
        self._nursery.close()
        self._wake.close()
        self._poll.close()
        self._board.store.close()
