"""Prompts: what an agent reads when it begins, hands over, or ends. What has no value is left out."""

from __future__ import annotations

from collections.abc import Iterable

from kumihimo.operations.operation import Call
from kumihimo.services.contexts import TaskContext
from kumihimo.settings import Language
from kumihimo.toolsets.texts import words


def task_start(call: Call, values: dict[str, str], language: Language, begin: str = "begin") -> str:
    """The task, what is known about it, the latest handoff and the history of work."""
    task = call.board.tasks.get(call.place, values["task_id"])
    lines = [words("task_start", language, title=task.title), "", words("task_facts", language)]
    lines += _facts({"ID": task.id, "#": str(task.number), "status": task.status, "priority": task.priority})
    if task.description:
        lines += ["", task.description]
    context = call.board.contexts.show(call.place, task.id, history=True)
    lines += _context(context, language)
    handoff = call.board.handoffs.latest(call.place, task.id)
    if handoff is not None:
        lines += ["", words("handoff", language), handoff.summary]
        lines += [text for text in (handoff.context, handoff.recommendations) if text]
        lines += [f"- {step}" for step in handoff.next_steps]
        lines += [f"- {words('beware', language)}: {warning}" for warning in handoff.warnings]
    runs = call.board.executions.list(task_id=task.id, limit=20).items
    if runs:
        lines += ["", words("history", language)]
        lines += [
            f"- {run.queued_at:%Y-%m-%d %H:%M} {run.status} {run.report.summary if run.report else ''}".rstrip()
            for run in runs
        ]
    lines += ["", words(begin, language)]
    return "\n".join(lines)


def handoff_template(call: Call, values: dict[str, str], language: Language, guide: str = "handoff_guide") -> str:
    """How to write one, what is known, and what the giver's own run has left to write it from."""
    from kumihimo.services.run_handoffs import newest_draft

    task = call.board.tasks.get(call.place, values["task_id"])
    lines = [words("handoff_template", language, title=task.title), "", words(guide, language)]
    lines += _context(call.board.contexts.show(call.place, task.id), language)
    session = call.caller.session
    giver = values.get("from_agent_id") or (session.agent_id if session else None)
    draft = newest_draft(call.board, call.place, task.id, giver) if giver else None
    if draft is not None:
        lines += ["", words("left_by_run", language), draft.summary]
        lines += [f"- {words('beware', language)}: {warning}" for warning in draft.warnings]
    return "\n".join(lines)


def context_summary(call: Call, values: dict[str, str], language: Language) -> str:
    task = call.board.tasks.get(call.place, values["task_id"])
    found = _context(call.board.contexts.show(call.place, task.id, history=True), language)
    lines = [words("context_summary", language, title=task.title), *(found or ["", words("nothing_known", language)])]
    return "\n".join(lines)


def session_start(call: Call, _: dict[str, str], language: Language) -> str:
    me = call.board.agents.show(call.session.agent_id)
    mine = call.board.tasks.list(call.place, assignee=me.id, limit=1_000).items
    waiting = call.board.handoffs.pending(place=call.place, agent=me.id)
    lines = [words("session_start", language), "", words("about_you", language)]
    about = {"name": me.name, "role": me.role, "capabilities": ", ".join(me.capabilities)}
    lines += _facts({words(key, language): value for key, value in about.items()})
    lines += ["", words("your_tasks", language, count=len(mine))]
    lines += [f"- [{view.task.status}] {view.task.title}" for view in mine]
    if waiting:
        lines += ["", words("your_handoffs", language, count=len(waiting))]
        lines += [f"- {view.handoff.summary}" for view in waiting]
    return "\n".join(lines)


def session_end(_: Call, __: dict[str, str], language: Language) -> str:
    return f"{words('session_end', language)}\n\n{words('session_end_guide', language)}"


def _facts(facts: dict[str, str]) -> Iterable[str]:
    return [f"- {name}: {value}" for name, value in facts.items() if value]


def _context(context: TaskContext, language: Language) -> list[str]:
    said = {"progress": context.progress, "findings": context.findings, "blockers": context.blockers,
            "next_steps": context.next_steps}  # fmt: skip
    lines = [f"- {words(key, language)}: {value}" for key, value in said.items() if value]
    lines += [f"- {note.kind}: {note.content}" for note in context.notes]
    return ["", words("context", language), *lines] if lines else []
