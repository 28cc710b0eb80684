"""The starter: from runs that were claimed to agents at work, and to the word that they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import IllegalTransition, StaleFence
from kumihimo.domain.execution import Execution
from kumihimo.domain.observation import Usage
from kumihimo.domain.token import Token
from kumihimo.services.board import Board
from kumihimo.supervisor.launcher import Launcher, SpawnFailed
from kumihimo.supervisor.watched_run import WatchedRun

# That agents have started is written down when they have had the machine to themselves for a moment: nobody waits for it.
_NOTE_SECONDS = 0.03


class _Known(NamedTuple):
    """What is the same for many runs that begin together: agents by their ids, the rest by the ids of projects."""

    agents: dict[str, Agent]
    decisions: dict[str | None, str]
    folders: dict[str | None, Path | None]


class Starter:
    """`watch` takes what was started."""

    def __init__(self, board: Board, launcher: Launcher, watch: Callable[[WatchedRun], None]) -> None:
        self._board = board
        self._launcher = launcher
        self._watch = watch
        # Claimed, and not launched yet: with the token that each is given.
        self._claimed: list[tuple[Execution, str]] = []
        # When to write down what was launched.
        self.note_at = float("inf")

    @property
    def waiting(self) -> list[str]:
        """Runs that are ours and not launched yet."""
        return [run.id for run, _ in self._claimed]

    def with_tokens(self, runs: Collection[Execution]) -> list[tuple[Execution, str]]:
        """Runs with what opens our MCP to each of them."""
        tokens = [Token("run", run.agent_id, run.project_id, run.id) for run in runs]
        return [*zip(runs, self._board.tokens.issue_all(tokens), strict=True)]

    def expect(self, claimed: Collection[tuple[Execution, str]]) -> None:
        self._claimed += claimed

    def launch(self) -> bool:
        """Launch what was claimed. Where the store fails in between, the rest is launched when it is back."""
        if not self._claimed:
            return False
        self._launcher.look_again()
        known = self._board.store.look(self._look_up)
        while self._claimed:
            run, token = self._claimed[0]
            self._launch(run, token, known)
            self._claimed.pop(0)
        self.note_at = min(self.note_at, time.monotonic() + _NOTE_SECONDS)
        return True

    def note(self, followed: Collection[WatchedRun]) -> None:
        """Of these, what was launched is running: one transaction for all of them."""
        started = [run for run in followed if run.execution.status == "starting"]

        def write(_: object) -> list[Execution]:
            return [self._board.executions.start(run.id, run.execution.fence, **run.beginning) for run in started]

        if started:
            try:
                noted = self._board.store.write(write)
            except (IllegalTransition, StaleFence):
                # We were held up for so long that some were given up.
                noted = [self._note_one(run) for run in started]
            for run, execution in zip(started, noted, strict=True):
                run.execution = execution
        self.note_at = float("inf")

    def usage_before(self, run: Execution) -> Usage:
        """What the conversation had used before this run went on with it."""
        if run.previous_id is None or run.conversation is None:
            return Usage()
        return self._board.executions.sight(run.previous_id).seen.conversation_usage

    def _look_up(self) -> _Known:
        board = self._board
        projects = {run.project_id for run, _ in self._claimed}
        return _Known(
            {agent: board.agents.show(agent) for agent in {run.agent_id for run, _ in self._claimed}},
            {project: board.memories.decisions(project) for project in projects},
            {project: self._folder_of(project) for project in projects},
        )

    def _folder_of(self, project_id: str | None) -> Path | None:
        return Path(self._board.projects.show(project_id).working_directory) if project_id else None

    def _launch(self, run: Execution, token: str, known: _Known) -> None:
        board = self._board
        before = board.executions.stage_before(run) if run.stage else []
        agent, project = known.agents[run.agent_id], run.project_id
        try:
            watched = self._launcher.launch(
                run, agent, token, before, self.usage_before(run), known.decisions[project], known.folders[project]
            )
        except SpawnFailed as error:
            board.executions.fail(run.id, run.fence, "spawn_failed", error=str(error)[:2_000])
            return
        watched.began = board.clock()
        self._watch(watched)

    def _note_one(self, run: WatchedRun) -> Execution:
        """Of a run that was given up while we were held up it is only followed how it ends."""
        runs = self._board.executions
        now = runs.show(run.id)
        if now.fence != run.execution.fence or not now.live:
            return now
        return runs.start(run.id, now.fence, **run.beginning)
