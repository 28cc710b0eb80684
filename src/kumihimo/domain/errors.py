"""Every mistake a caller can make, and every refusal of ours, as one tree.

KumihimoError
├── NotFound
│   ├── ProjectNotFound  AgentNotFound  TaskNotFound  SessionNotFound
│   ├── ExecutionNotFound  GroupNotFound  HandoffNotFound  MemoryNotFound  RoleNotFound
│   ├── ServerNotFound
│   ├── ForeignServerNotFound
│   └── AmbiguousReference
├── InvalidValue
│   ├── NameTaken  DependencyCycle  CursorInvalid  ToolsetClash
│   └── EmptyAgents  EmptyStages  EmptyStageTasks
├── WrongState
│   ├── IllegalTransition  TaskNotReady  SessionAlreadyRunning  StaleFence
│   ├── HandoffAlreadyAccepted  GroupHasRunningAgents  GroupNotActive  TaskHeld  ProjectArchived
│   ├── ModeMismatch  RoleUnavailable  MaxConcurrentReached  ReportRefused  NotResumable
│   ├── ScopesOverlap  NothingToMerge  ArtifactAway
│   └── StartFailed  PlanFailed
├── Refused
│   └── LoginRefused  TokenRefused  TaskRefused  ExecutionRefused  AgentBusy  PermissionDenied  UpstreamRefused  UpstreamNotFound
├── ConfigError
│   └── ProjectUnclear  NoProject
├── GitError
│   ├── GitMissing  NotARepository  UnsafeRepository  GitLocked  FilterMissing
│   ├── HeadUnborn  HeadDetached  UnknownRevision  BranchTaken
│   ├── WorktreeNotFound  WorktreeHeld  WorktreeInTheWay  SnapshotNotFound  UnfinishedOperation
│   └── ChangesInTheWay  NotFastForward
└── StoreError
    ├── StoreUnreachable  StoreNotOurs  StoreTooNew  StoreDamaged  StoreNotWritable  StoreNotEmpty  LibraryTooOld
    └── StoreCrowded  StoreOutcomeUnknown

The class name is the stable code. Texts, in every language, are in `messages/`; numbers (exit code, HTTP status,
JSON-RPC code) live in one table per surface.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kumihimo.domain.git_errors import BranchTaken as BranchTaken
from kumihimo.domain.git_errors import ChangesInTheWay as ChangesInTheWay
from kumihimo.domain.git_errors import FilterMissing as FilterMissing
from kumihimo.domain.git_errors import GitError as GitError
from kumihimo.domain.git_errors import GitLocked as GitLocked
from kumihimo.domain.git_errors import GitMissing as GitMissing
from kumihimo.domain.git_errors import HeadDetached as HeadDetached
from kumihimo.domain.git_errors import HeadUnborn as HeadUnborn
from kumihimo.domain.git_errors import NotARepository as NotARepository
from kumihimo.domain.git_errors import NotFastForward as NotFastForward
from kumihimo.domain.git_errors import SnapshotNotFound as SnapshotNotFound
from kumihimo.domain.git_errors import UnfinishedOperation as UnfinishedOperation
from kumihimo.domain.git_errors import UnknownRevision as UnknownRevision
from kumihimo.domain.git_errors import UnsafeRepository as UnsafeRepository
from kumihimo.domain.git_errors import WorktreeHeld as WorktreeHeld
from kumihimo.domain.git_errors import WorktreeInTheWay as WorktreeInTheWay
from kumihimo.domain.git_errors import WorktreeNotFound as WorktreeNotFound
from kumihimo.domain.refusal import Fact as Fact
from kumihimo.domain.refusal import KumihimoError as KumihimoError
from kumihimo.domain.refusal import listed as listed


class NotFound(KumihimoError):
    """Something was named that is not there."""

    def __init__(self, name: str | int, near: str | None = None) -> None:
        super().__init__(name=name, near=near)


class ProjectNotFound(NotFound):
    pass


class AgentNotFound(NotFound):
    pass


class TaskNotFound(NotFound):
    pass


class SessionNotFound(NotFound):
    pass


class ExecutionNotFound(NotFound):
    pass


class GroupNotFound(NotFound):
    pass


class HandoffNotFound(NotFound):
    pass


class MemoryNotFound(NotFound):
    pass


class ServerNotFound(NotFound):
    """No server behind the hub has this name."""


class ForeignServerNotFound(NotFound):
    """No other client on this machine has a server of this name."""


class RoleNotFound(NotFound):
    """No agent has this name, or it may not be given work."""


class AmbiguousReference(NotFound):
    """A prefix that fits more than one id."""

    def __init__(self, name: str, choices: Iterable[str]) -> None:
        KumihimoError.__init__(self, name=name, choices=listed(choices))


class InvalidValue(KumihimoError):
    """A value that the schema allows and the rules do not. `problem` is a key of the messages' table of problems."""

    def __init__(self, field: str, problem: str, **facts: Fact) -> None:
        super().__init__(field=field, problem=problem, **facts)

    def called(self, names: Mapping[str, str]) -> InvalidValue:
        """The same of an argument that who has given it knows by another name."""
        field = self.facts.get("field")
        if isinstance(field, str) and field in names:
            self.facts["field"] = names[field]
        return self


class NameTaken(InvalidValue):
    def __init__(self, noun: str, name: str) -> None:
        KumihimoError.__init__(self, noun=noun, name=name)


class DependencyCycle(InvalidValue):
    def __init__(self, task: int, depends_on: int) -> None:
        KumihimoError.__init__(self, task=task, depends_on=depends_on)


class CursorInvalid(InvalidValue):
    """A cursor that this store did not give."""

    def __init__(self, cursor: str) -> None:
        KumihimoError.__init__(self, cursor=cursor[:60])


class ToolsetClash(InvalidValue):
    """Two toolsets that can't be one server, because a name means different things in them."""

    def __init__(self, one: str, other: str, names: Iterable[str]) -> None:
        KumihimoError.__init__(self, one=one, other=other, names=listed(names))


class EmptyAgents(InvalidValue):
    def __init__(self) -> None:
        KumihimoError.__init__(self)


class EmptyStages(InvalidValue):
    def __init__(self) -> None:
        KumihimoError.__init__(self)


class EmptyStageTasks(InvalidValue):
    def __init__(self, stage: int) -> None:
        KumihimoError.__init__(self, stage=stage)


class WrongState(KumihimoError):
    """The thing is there, but not in a state for this."""


class IllegalTransition(WrongState):
    def __init__(self, noun: str, name: str | int, state: str, action: str, allowed: Iterable[str]) -> None:
        super().__init__(noun=noun, name=name, state=state, action=action, allowed=listed(allowed))


class TaskNotReady(WrongState):
    """A rule of the board holds a task back. `problem` is a key of the messages' table of problems."""

    def __init__(self, task: int, problem: str, **facts: Fact) -> None:
        super().__init__(task=task, problem=problem, **facts)


class ProjectArchived(WrongState):
    """Nothing new is put into a project that was put away."""

    def __init__(self, project: str) -> None:
        super().__init__(project=project)


class SessionAlreadyRunning(WrongState):
    """The task has a running session (an execution) already."""

    def __init__(self, task: int, session: int | None) -> None:
        super().__init__(task=task, session=session)


class ScopesOverlap(WrongState):
    """Another run is writing what this one may write."""

    def __init__(self, task: int, other: int, run: str) -> None:
        super().__init__(task=task, other=other, run=run)


class NothingToMerge(WrongState):
    """There is no work that could be merged. `problem` is a key of the messages' table of problems."""

    def __init__(self, name: str | int, problem: str, **facts: Fact) -> None:
        super().__init__(name=name, problem=problem, **facts)


class ArtifactAway(WrongState):
    """What a run has written is on another host, and can't be had from there now. `problem` is a key of the messages' table
    of problems."""

    def __init__(self, execution: str, host: str, problem: str, **facts: Fact) -> None:
        super().__init__(execution=execution, host=host, problem=problem, **facts)


class TaskHeld(WrongState):
    """The task can't be given to somebody else in its state."""

    def __init__(self, task: int, state: str) -> None:
        super().__init__(task=task, state=state)


class StaleFence(WrongState):
    """The claim under which this was written is not the newest: nothing was written."""

    def __init__(self, execution: str) -> None:
        super().__init__(execution=execution)


class HandoffAlreadyAccepted(WrongState):
    def __init__(self, handoff: str) -> None:
        super().__init__(handoff=handoff)


class GroupHasRunningAgents(WrongState):
    def __init__(self, group: str, running: int) -> None:
        super().__init__(group=group, running=running)


class GroupNotActive(WrongState):
    def __init__(self, group: str) -> None:
        super().__init__(group=group)


class ModeMismatch(WrongState):
    """The group is of the other kind."""

    def __init__(self, group: str, mode: str) -> None:
        super().__init__(group=group, mode=mode)


class RoleUnavailable(WrongState):
    """The program behind the role did not pass its last check."""

    def __init__(self, role: str, reason: str | None) -> None:
        super().__init__(role=role, reason=reason)


class MaxConcurrentReached(WrongState):
    def __init__(self, wanted: int, free: int, slots: int) -> None:
        super().__init__(wanted=wanted, free=free, slots=slots)


class ReportRefused(WrongState):
    """A report that can't be taken. `problem` is a key of the messages' table of problems."""

    def __init__(self, execution: str, problem: str) -> None:
        super().__init__(execution=execution, problem=problem)


class NotResumable(WrongState):
    """A run whose conversation can't be gone on with."""

    def __init__(self, execution: str, problem: str, **facts: Fact) -> None:
        super().__init__(execution=execution, problem=problem, **facts)


class StartFailed(WrongState):
    """Nothing could be started. `problem` is a key of the messages' table of problems."""

    def __init__(self, problem: str, **facts: Fact) -> None:
        super().__init__(problem=problem, **facts)


class PlanFailed(StartFailed):
    """A plan could not be put to work."""


class Refused(KumihimoError):
    """Who asks may not."""


class LoginRefused(Refused):
    """One answer for an unknown agent, an unknown project and a wrong passkey."""


class TokenRefused(Refused):
    """A session token that is unknown, ended or expired."""


class TaskRefused(Refused):
    """A task that is not there, or not of this session."""


class ExecutionRefused(Refused):
    """A record that is not there, not of this session, or over."""


class AgentBusy(Refused):
    """A live session of this (agent, project) exists."""


class PermissionDenied(Refused):
    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class UpstreamRefused(Refused):
    """What the hub or a server behind it has said no to. `upstream_code` is one of the hub's own codes; `retryable` is
    whether trying again may help."""

    def __init__(self, upstream_code: str, reason: str, *, retryable: bool = False) -> None:
        super().__init__(upstream_code=upstream_code, reason=reason, retryable=retryable)


class UpstreamNotFound(UpstreamRefused):
    """There is no such server behind the hub, or none with such a tool, prompt or resource."""


class ConfigError(KumihimoError):
    """Configuration that can't be used. `where` is a file, with a line where one is known."""

    def __init__(self, where: str, problem: str, **facts: Fact) -> None:
        super().__init__(where=where, problem=problem, **facts)


class ProjectUnclear(ConfigError):
    """No project was named and the folder does not say which."""

    def __init__(self, projects: Iterable[str]) -> None:
        KumihimoError.__init__(self, projects=listed(projects))


class NoProject(ConfigError):
    """A project is needed and there is none at all."""

    def __init__(self) -> None:
        KumihimoError.__init__(self)


class StoreError(KumihimoError):
    """The database can't be used."""

    def __init__(self, database: str, **facts: Fact) -> None:
        super().__init__(database=database, **facts)


class StoreUnreachable(StoreError):
    """Raised by a command, it says that nothing of the command was done."""


class StoreCrowded(StoreUnreachable):
    """The server is there and has no connection left to give."""


class StoreOutcomeUnknown(StoreError):
    """The connection was lost during a commit, and whether that was done could not be found out."""


class StoreNotOurs(StoreError):
    pass


class StoreTooNew(StoreError):
    pass


class StoreDamaged(StoreError):
    pass


class LibraryTooOld(StoreError):
    pass


class StoreNotWritable(StoreError):
    pass


class StoreNotEmpty(StoreError):
    pass
