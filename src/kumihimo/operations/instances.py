"""Instances: the calls of a Runner. None of them shows a task."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from kumihimo import __version__
from kumihimo.domain.errors import (
    AgentBusy,
    AgentNotFound,
    ConfigError,
    IllegalTransition,
    InvalidValue,
    ProjectNotFound,
)
from kumihimo.domain.instance import InstanceState
from kumihimo.domain.token import Token
from kumihimo.operations.operation import Arguments, Call, Nothing, operation
from kumihimo.services.instances import Pair, Reported, Staffed, Verdict
from kumihimo.settings import WORKER_PATH, Flags, load

# Clients often give up after 60 seconds: a wait answers before that and is asked for again.
LONGEST_WAIT_SECONDS = 50.0

AgentId = Annotated[str, Meta(description="The id of an agent.")]
ProjectId = Annotated[str, Meta(description="The id of a project.")]


class Health(Struct, frozen=True):
    version: str
    at: datetime


class RunnerToken(Struct, frozen=True):
    token: str


class Work(Struct, frozen=True):
    """Pairs that may start now; none, and `timed_out`, where none may for as long as was waited."""

    pairs: list[Pair]
    timed_out: bool = False


class AgentAndProject(Arguments, frozen=True):
    agent_id: AgentId
    project_id: ProjectId


class ReportInstance(Arguments, frozen=True):
    agent_id: AgentId
    project_id: ProjectId
    instance_id: Annotated[str, Meta(description="Your own name for the process, the same in every report.")]
    state: Annotated[InstanceState, Meta(description="What you know of it now.")]
    working_directory: Annotated[str | None, Meta(description="Where it works.")] = None
    exit_code: Annotated[int | None, Meta(description="How it ended.")] = None
    signal: Annotated[str | None, Meta(description="The signal that ended it.")] = None
    last_lines: Annotated[str | None, Meta(description="The last things it said, without secrets.")] = None


class WaitForWork(Arguments, frozen=True):
    timeout_ms: Annotated[int | None, Meta(description="How long to wait; at most 50 seconds.")] = None


def _patience(arguments: WaitForWork) -> float:
    longest = int(LONGEST_WAIT_SECONDS * 1000)
    asked = longest if arguments.timeout_ms is None else arguments.timeout_ms
    return min(max(asked, 0), longest) / 1000


@operation("instance.health", Nothing, Health, reads=True)
def health(call: Call, _: Nothing) -> Health:
    """Say that the server is there, and which version it is."""
    return Health(__version__, call.board.clock())


@operation("instance.projects", Nothing, list[Staffed], reads=True)
def projects(call: Call, _: Nothing) -> list[Staffed]:
    """Every active project with the active agents that are assigned to it."""
    return call.board.instances.staffed_projects()


@operation("instance.should_start", AgentAndProject, Verdict)
def should_start(call: Call, arguments: AgentAndProject) -> Verdict:
    """Whether to start an instance of this agent for this project now, and with which CLI.

    Yes is said once: until the instance has logged in, or two minutes have passed, the answer is no.
    """
    return call.board.instances.should_start(arguments.agent_id, arguments.project_id)


@operation(
    "instance.report", ReportInstance, Reported, AgentNotFound, ProjectNotFound, AgentBusy, IllegalTransition, InvalidValue,
    idempotent=True,
)  # fmt: skip
def report(call: Call, arguments: ReportInstance) -> Reported:
    """Say what became of a start. For `starting` the answer has a token that opens the instance's own work and no more."""
    reported = call.board.instances.report(
        arguments.agent_id,
        arguments.project_id,
        arguments.instance_id,
        arguments.state,
        working_directory=arguments.working_directory,
        exit_code=arguments.exit_code,
        signal=arguments.signal,
        last_lines=arguments.last_lines,
    )
    return reported if reported.token is None else replace(reported, door=_door(call, reported))


def _door(call: Call, reported: Reported) -> str | None:
    """Where the instance finds its own work and, if its project has servers behind its hub, these."""
    folder = Path(call.board.projects.show(reported.instance.project_id).working_directory)
    named = call.settings.hub_config
    try:
        settings = load(Flags(hub_config=str(named) if named else None), os.environ, folder)
    except ConfigError:
        # Settings of the project that can't be read: without the hub it can still work.
        return None
    path = settings.door_path(folder)
    return None if path == WORKER_PATH else path


@operation("instance.wait", WaitForWork, Work, reads=True, patience=_patience, in_vain=Work([], True))
def wait(call: Call, _: WaitForWork) -> Work | None:
    """Answer as soon as some pair may start, so that an idle Runner costs nothing."""
    pairs = call.board.instances.startable_pairs()
    return Work(pairs) if pairs else None


@operation("instance.runner_token", Nothing, RunnerToken)
def runner_token(call: Call, _: Nothing) -> RunnerToken:
    """A new token that opens a Runner's calls and nothing else. It is in the answer and nowhere else: keep it."""
    return RunnerToken(call.board.tokens.issue(Token("runner")))


OPERATIONS = (health, projects, should_start, report, wait, runner_token)
