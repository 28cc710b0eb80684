"""Tasks: the plan of a project, and the rules that hold a task back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from kumihimo.domain import text
from kumihimo.domain.agent import Agent, AgentType, Scope
from kumihimo.domain.errors import DependencyCycle, InvalidValue, ProjectArchived, TaskHeld, TaskNotFound, TaskNotReady
from kumihimo.domain.event import Change
from kumihimo.domain.retry import RetryPolicy
from kumihimo.domain.task import ASSIGNABLE, ENDED, Priority, Task, TaskStatus, TaskType
from kumihimo.services import agents, projects
from kumihimo.services.hosts import pinned
from kumihimo.services.projects import Place
from kumihimo.services.references import by_id, number
from kumihimo.services.service import Service, command, lookup, query
from kumihimo.services.task_rules import require_finishable, require_startable, waits_for_subtasks_alone
from kumihimo.store.paging import Page, bounded
from kumihimo.store.store import Transaction

Reference = str | int


class TaskView(msgspec.Struct, frozen=True):
    """A task with what people want to see beside it: names and numbers in place of ids."""

    task: Task
    assignee: Agent | None
    parent: int | None
    depends_on: list[int]
    subtasks: list[int]


class NewTask(msgspec.Struct, frozen=True):
    """What a task is made of. Texts may still be anything."""

    title: str
    description: str = ""
    priority: Priority = "medium"
    type: TaskType = "task"
    status: TaskStatus = "todo"
    assignee: str | None = None
    assignee_type: AgentType | None = None
    parent: Reference | None = None
    depends_on: Sequence[Reference] = ()
    dod: Sequence[str] = ()
    write: Sequence[str] = ()
    exclude: Sequence[str] = ()
    host: str | None = None
    retries: int | None = None
    retry_on: Sequence[str] | None = None


def find(transaction: Transaction, place: Place, reference: Reference) -> Task:
    """By number in the project where the caller stands, or by id or prefix from anywhere."""
    if isinstance(reference, str):
        found = by_id(transaction.tasks, "tsk_", reference)
        if found is not None:
            return found
        if reference.startswith("tsk_"):
            raise TaskNotFound(reference[:80])
    project = projects.at(transaction, place)
    wanted = number(reference)
    found = None if wanted is None else transaction.tasks.numbered(project.id, wanted)
    if found is None:
        raise TaskNotFound(str(reference)[:80])
    return found


def locked(transaction: Transaction, place: Place, reference: Reference) -> Task:
    found = find(transaction, place, reference)
    return transaction.tasks.lock(found.id) or found


def view(transaction: Transaction, tasks: Sequence[Task]) -> list[TaskView]:
    """Everything that a page of tasks needs, in three questions."""
    ids = {task.id for task in tasks}
    others = {
        other for task in tasks for other in (*task.depends_on, task.parent_id or "") if other and other not in ids
    }
    known = {**transaction.tasks.by_ids(others), **{task.id: task for task in tasks}}
    people = transaction.agents.by_ids({task.assignee_id for task in tasks if task.assignee_id})
    children = transaction.tasks.subtasks(ids)
    return [
        TaskView(
            task,
            people.get(task.assignee_id or ""),
            known[task.parent_id].number if task.parent_id else None,
            [known[other].number for other in task.depends_on],
            children.get(task.id, []),
        )
        for task in tasks
    ]


class Tasks(Service):
    @command
    def create(self, transaction: Transaction, place: Place, new: NewTask) -> TaskView:
        project = projects.at(transaction, place)
        if project.status == "archived":
            raise ProjectArchived(project.name)
        now = self.clock()
        here = Place(project.id)
        # The number is taken first: that locks the project, so the parent can't be finished while a subtask is added.
        number = transaction.projects.take_task_number(project.id)
        parent = None if new.parent is None else self._open_parent(transaction, here, new.parent)
        assignee = self._assignee(transaction, new.assignee, new.assignee_type)
        task = Task(
            id=self.identifiers.new("task"),
            number=number,
            project_id=project.id,
            title=text.line("title", new.title),
            description=text.long("description", new.description),
            status="backlog" if new.status == "backlog" else "todo",
            status_reason=None,
            priority=new.priority,
            type=new.type,
            assignee_id=assignee.id if assignee else None,
            assignee_type=None if assignee else new.assignee_type,
            parent_id=parent.id if parent else None,
            dod=text.lines("dod", tuple(new.dod)),
            scope=Scope(text.lines("write", tuple(new.write)), text.lines("exclude", tuple(new.exclude))),
            created_at=now,
            updated_at=now,
            assigned_at=now if assignee else None,
            depends_on=self._dependencies(transaction, here, new.depends_on),
            host=pinned(transaction, new.host or None),
            retry=RetryPolicy().changed(new.retries, new.retry_on),
        )
        transaction.tasks.add_task(Change(task, "task.created", now))
        if new.status not in ("backlog", "todo"):
            if new.status != "in_progress":
                raise TaskNotReady(task.number, "bad_start", state=new.status)
            task = self._move(transaction, task, "in_progress")
        return view(transaction, [task])[0]

    @lookup
    def get(self, transaction: Transaction, place: Place, reference: Reference) -> Task:
        """The task alone."""
        return find(transaction, place, reference)

    @query
    def show(self, transaction: Transaction, place: Place, reference: Reference) -> TaskView:
        return view(transaction, [find(transaction, place, reference)])[0]

    @query
    def list(
        self,
        transaction: Transaction,
        place: Place,
        *,
        statuses: Collection[TaskStatus] | None = None,
        assignee: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[TaskView]:
        """Newest first."""
        project = projects.at(transaction, place)
        page = transaction.tasks.page(
            project_id=project.id,
            statuses=statuses,
            assignee_id=agents.find(transaction, assignee).id if assignee else None,
            limit=bounded(limit),
            cursor=cursor,
        )
        return Page(view(transaction, page.items), page.next_cursor)

    @query
    def waits_below(self, transaction: Transaction, task_id: str) -> bool:
        """Whether something below a task is open."""
        return bool(transaction.tasks.open_subtasks(task_id))

    @query
    def counts(self, transaction: Transaction, project_id: str) -> dict[str, int]:
        """How many tasks are in each status."""
        return transaction.tasks.counts(project_id)

    @command
    def update(
        self,
        transaction: Transaction,
        place: Place,
        reference: Reference,
        *,
        status: TaskStatus | None = None,
        reason: str | None = None,
        force: bool = False,
        assignee: str | None = None,
        assignee_type: AgentType | None = None,
        **fields: Any,
    ) -> TaskView:
        """Change what is given; what is None stays. The status moves last, by the rules for the task as it then is."""
        task = locked(transaction, place, reference)
        leaves = fields.get("parent") is not None and task.parent_id is not None
        above = transaction.tasks.lock(task.parent_id or "") if leaves else None
        task = self._edit(transaction, task, {name: value for name, value in fields.items() if value is not None})
        if above is not None and above.id != task.parent_id:
            self._finish_above(transaction, above)
        if assignee is not None or assignee_type is not None:
            task = self._reassign(transaction, task, assignee, assignee_type)
        if status is not None:
            task = self._move(transaction, task, status, reason=reason, forced=force)
        return view(transaction, [task])[0]

    @command
    def assign(self, transaction: Transaction, place: Place, reference: Reference, assignee: str) -> TaskView:
        task = self._reassign(transaction, locked(transaction, place, reference), assignee, None)
        return view(transaction, [task])[0]

    @command
    def depend(self, transaction: Transaction, place: Place, reference: Reference, target: Reference) -> TaskView:
        """Let a task wait for one more."""
        task = locked(transaction, place, reference)
        known = transaction.tasks.by_ids(task.depends_on)
        references = [*(known[identifier].id for identifier in task.depends_on), target]
        return view(transaction, [self._edit(transaction, task, {"depends_on": references})])[0]

    @command
    def begin(self, transaction: Transaction, task: Task, agent: Agent) -> Task:
        """Give a task to an agent and start it, from wherever it is; one that is over stays as it is."""
        if task.status in ("done", "cancelled"):
            return task
        if task.assignee_id != agent.id:
            task = self._reassign(transaction, task, agent.id, None)
        for step in ("todo", "in_progress") if task.status == "backlog" else ("in_progress",):
            task = self._move(transaction, task, step)
        return task

    @command
    def move(
        self,
        transaction: Transaction,
        task: Task,
        status: TaskStatus,
        *,
        reason: str | None = None,
        forced: bool = False,
    ) -> Task:
        """A locked task to another status, by the table and the rules. Already there is fine."""
        return self._move(transaction, task, status, reason=reason, forced=forced)

    def _move(
        self,
        transaction: Transaction,
        task: Task,
        status: str,
        *,
        reason: str | None = None,
        forced: bool = False,
    ) -> Task:
        if task.status == status:
            return task
        change = task.move(status, self.clock(), text.long_or_none("reason", reason))
        above = transaction.tasks.lock(task.parent_id) if status in ENDED and task.parent_id else None
        if status in ("in_progress", "done"):
            # Locked, so that nobody leaves the project or adds a subtask between the look and the move.
            project = transaction.projects.lock(task.project_id)
            assert project is not None, "a task's project is a foreign key"
            if status == "done":
                require_finishable(transaction, task, forced=forced)
            else:
                require_startable(transaction, project, task)
        transaction.tasks.save(change)
        if above is not None:
            self._finish_above(transaction, above)
        return change.value

    def _finish_above(self, transaction: Transaction, task: Task) -> None:
        """What was said of it before is a fact once nothing below it is open: nobody will come back and say it again."""
        if not waits_for_subtasks_alone(transaction, task):
            return
        run = transaction.executions.get(task.claimed_by or "")
        said = run.report.summary if run and run.report else None
        try:
            self._move(transaction, task, "done", reason=said)
        except TaskNotReady:
            return

    def _edit(self, transaction: Transaction, task: Task, fields: dict[str, Any]) -> Task:
        checked: dict[str, Any] = {name: fields[name] for name in ("priority", "type") if name in fields}
        if "title" in fields:
            checked["title"] = text.line("title", fields["title"])
        if "description" in fields:
            checked["description"] = text.long("description", fields["description"])
        if "dod" in fields:
            checked["dod"] = text.lines("dod", fields["dod"])
        checked["scope"] = Scope(
            text.lines("write", fields.get("write", task.scope.write)),
            text.lines("exclude", fields.get("exclude", task.scope.exclude)),
        )
        if "parent" in fields:
            checked["parent_id"] = self._new_parent(transaction, task, fields["parent"])
        if "depends_on" in fields:
            checked["depends_on"] = self._new_dependencies(transaction, task, fields["depends_on"])
        if "host" in fields:
            # Nothing: anywhere.
            checked["host"] = pinned(transaction, fields["host"] or None)
        checked["retry"] = task.retry.changed(fields.get("retries"), fields.get("retry_on"))
        changes = {name: value for name, value in checked.items() if getattr(task, name) != value}
        if not changes:
            return task
        change = task.edit(self.clock(), **changes)
        if "depends_on" in changes:
            transaction.tasks.save_dependencies(change)
        else:
            transaction.tasks.save(change)
        return change.value

    def _reassign(self, transaction: Transaction, task: Task, assignee: str | None, kind: AgentType | None) -> Task:
        agent = self._assignee(transaction, assignee, kind)
        if agent is None:
            return self._edit_wish(transaction, task, kind)
        if agent.id == task.assignee_id:
            return task
        if task.status not in ASSIGNABLE:
            raise TaskHeld(task.number, task.status)
        change = task.assign(agent.id, self.clock())
        transaction.tasks.save(change)
        return change.value

    def _edit_wish(self, transaction: Transaction, task: Task, kind: AgentType | None) -> Task:
        """Which kind of assignee is wanted, for a task that has none."""
        if task.assignee_id is not None:
            self._require_type(transaction.agents.get(task.assignee_id), kind)
            return task
        if task.assignee_type == kind:
            return task
        change = task.edit(self.clock(), assignee_type=kind)
        transaction.tasks.save(change)
        return change.value

    def _assignee(self, transaction: Transaction, name: str | None, kind: AgentType | None) -> Agent | None:
        if name is None:
            return None
        agent = agents.find(transaction, name)
        self._require_type(agent, kind)
        return agent

    def _require_type(self, agent: Agent | None, kind: AgentType | None) -> None:
        if agent is not None and kind is not None and agent.type != kind:
            raise InvalidValue("assignee_type", "other_type", value=kind, agent=agent.name, actual=agent.type)

    def _related(self, transaction: Transaction, here: Place, field: str, reference: Reference) -> Task:
        """A task of the same project that another one names."""
        try:
            found = find(transaction, here, reference)
        except TaskNotFound:
            raise InvalidValue(field, "unknown_task", value=str(reference)[:80]) from None
        if found.project_id != here.project:
            raise InvalidValue(field, "unknown_task", value=str(reference)[:80])
        return found

    def _dependencies(self, transaction: Transaction, here: Place, references: Sequence[Reference]) -> tuple[str, ...]:
        found = [self._related(transaction, here, "depends_on", reference).id for reference in references]
        return tuple(dict.fromkeys(found))

    def _new_dependencies(
        self, transaction: Transaction, task: Task, references: Sequence[Reference]
    ) -> tuple[str, ...]:
        # The project is locked: two that each add one half of a ring would not see the other's half.
        transaction.projects.lock(task.project_id)
        targets = self._dependencies(transaction, Place(task.project_id), references)
        for target in targets:
            if transaction.tasks.depends_on(target, task.id):
                other = transaction.tasks.get(target)
                raise DependencyCycle(task.number, other.number if other else 0)
        return targets

    def _new_parent(self, transaction: Transaction, task: Task, reference: Reference) -> str:
        transaction.projects.lock(task.project_id)
        parent = self._open_parent(transaction, Place(task.project_id), reference)
        if transaction.tasks.descends_from(parent.id, task.id):
            raise InvalidValue("parent", "own_parent")
        return parent.id

    def _open_parent(self, transaction: Transaction, here: Place, reference: Reference) -> Task:
        """A task that may still get subtasks; the project is locked."""
        parent = self._related(transaction, here, "parent", reference)
        if parent.status in ENDED:
            raise InvalidValue("parent", "parent_over", value=parent.number, state=parent.status)
        return parent
