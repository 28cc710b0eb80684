"""The brief of a worker: the task, what is known about it, and what must hold before its work is done."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kumihimo.domain.agent import Scope
from kumihimo.domain.handoff import Handoff
from kumihimo.domain.task import Task
from kumihimo.services import contexts
from kumihimo.services.contexts import TaskContext
from kumihimo.store.store import Transaction

_CONTEXT = {
    "progress": "Progress so far",
    "findings": "Findings",
    "blockers": "Blockers",
    "next_steps": "Next steps",
}


class Knowledge(msgspec.Struct, frozen=True):
    """What others have left about a task."""

    context: TaskContext
    handoff: Handoff | None


def gather(transaction: Transaction, task: Task) -> Knowledge:
    return Knowledge(contexts.gather(transaction, task), transaction.handoffs.latest(task.id))


def compose(task: Task, known: Knowledge, scope: Scope, checks: Sequence[str], branch: str | None) -> str:
    """Everything that somebody who begins has to know, and nothing else."""
    parts = [f"Task #{task.number}: {task.title}"]
    if task.description.strip():
        parts.append(task.description.strip())
    parts += _known(known)
    parts.append("\n".join(["How to work:", *(f"- {rule}" for rule in _rules(task, scope, checks, branch))]))
    return "\n\n".join(parts)


def _known(known: Knowledge) -> list[str]:
    parts = [
        f"{heading}:\n{text}" for name, heading in _CONTEXT.items() if (text := getattr(known.context, name, None))
    ]
    handoff = known.handoff
    if handoff is not None:
        lines = [f"Handed over to you:\n{handoff.summary}"]
        lines += [text for text in (handoff.context, handoff.recommendations) if text]
        lines += [f"- Next: {step}" for step in handoff.next_steps]
        lines += [f"- Beware: {warning}" for warning in handoff.warnings]
        parts.append("\n".join(lines))
    return parts


def _rules(task: Task, scope: Scope, checks: Sequence[str], branch: str | None) -> list[str]:
    rules: list[str] = []
    if branch is not None:
        rules.append(
            f"You are in a git worktree of your own, on the branch {branch}. Commit your work there, in small commits; "
            "what is not committed is not merged. Don't push, and don't change other branches."
        )
    if scope.write:
        rules.append(f"Change only files that match: {', '.join(scope.write)}. Anything else blocks the task.")
    if scope.exclude:
        rules.append(f"Leave alone what matches: {', '.join(scope.exclude)}.")
    if checks:
        rules.append("These commands must pass before the task is done: " + "; ".join(f"`{check}`" for check in checks))
    rules.append(f"Stay with this task (#{task.number}): what else you notice belongs into your report.")
    return rules
