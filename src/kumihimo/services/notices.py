"""Notices: which events a person wants to hear of, and in which words.

Each event is judged by itself and by the log up to it, so that who follows the log, stops and goes on tells everything once.
A thing that has several sides is told by one of them: the end of a run on a task by its task, a success in a group by the
group when its last run is done.
"""

from __future__ import annotations

import re
from collections.abc import Generator

import msgspec

from kumihimo.domain.event import Event
from kumihimo.domain.execution import Execution
from kumihimo.domain.handoff import Handoff
from kumihimo.domain.messages import Language
from kumihimo.domain.messages.notices import ANYBODY, told
from kumihimo.domain.notice import Notice, identify
from kumihimo.domain.notice_channel import NoticeKind
from kumihimo.domain.task import Task
from kumihimo.domain.token import strike_out_tokens
from kumihimo.services.group_ends import DONE, ENDED, ends_of
from kumihimo.services.settling import why
from kumihimo.store.store import Store, Transaction

_TELLING = frozenset({"task.moved", "handoff.created", "execution.verified", *DONE})
# Why a run can't go on without somebody.
_NEEDY = ("auth", "permission", "rate_limited")
_TITLE_LENGTH = 200
_TEXT_LENGTH = 2_000
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

_decode_task = msgspec.json.Decoder(Task).decode
_decode_run = msgspec.json.Decoder(Execution).decode
_decode_handoff = msgspec.json.Decoder(Handoff).decode


class Notices:
    """`url` is where the dashboard is."""

    def __init__(self, store: Store, language: Language, url: str | None = None) -> None:
        self._store = store
        self._language: Language = language
        self._url = url

    def of(self, event: Event) -> list[Notice]:
        """What is to be told because of an event; mostly nothing."""
        if event.kind not in _TELLING:
            return []
        return self._store.read(lambda transaction: list(self._judge(transaction, event)))

    def _judge(self, transaction: Transaction, event: Event) -> Generator[Notice]:
        match event.noun:
            case "task":
                yield from self._of_task(transaction, event, _decode_task(event.data))
            case "handoff":
                yield from self._of_handoff(transaction, event, _decode_handoff(event.data))
            case _ if event.kind == "execution.verified":
                yield from self._of_evidence(transaction, event, _decode_run(event.data))
            case _:
                run = _decode_run(event.data)
                yield from self._of_end(transaction, event, run)
                yield from self._of_group(transaction, event, run)

    def _of_task(self, transaction: Transaction, event: Event, task: Task) -> Generator[Notice]:
        kinds: dict[str, NoticeKind] = {"blocked": "needs_you", "done": "done"}
        kind = kinds.get(task.status)
        if kind is not None:
            facts = {"number": task.number, "title": task.title, "reason": task.status_reason or ""}
            yield self._notice(transaction, event, kind, f"task_{task.status}", f"board/{task.id}", task.id, **facts)

    def _of_handoff(self, transaction: Transaction, event: Event, handoff: Handoff) -> Generator[Notice]:
        """Only what waits for a person, or for whoever comes: an agent finds its own."""
        taker = transaction.agents.get(handoff.to_agent_id) if handoff.to_agent_id else None
        if taker is not None and taker.type == "ai":
            return
        task = transaction.tasks.get(handoff.task_id)
        facts = {
            "giver": self._name(transaction, handoff.from_agent_id),
            "taker": taker.name if taker else ANYBODY[self._language],
            "number": task.number if task else "?",
            "title": task.title if task else "",
            "summary": handoff.summary,
        }
        yield self._notice(transaction, event, "needs_you", "handed_over", "now", handoff.id, **facts)

    def _of_evidence(self, transaction: Transaction, event: Event, run: Execution) -> Generator[Notice]:
        """Everything speaks for it, and somebody has to take it over."""
        task = transaction.tasks.get(run.task_id) if run.task_id else None
        if task is None or run.branch is None or run.dod_result != "pending":
            return
        if task.status == "in_progress" and task.claimed_by == run.id:
            facts = {"number": task.number, "title": task.title, "branch": run.branch}
            yield self._notice(
                transaction, event, "needs_you", "task_waits_for_merge", f"board/{task.id}", task.id, **facts
            )

    def _of_end(self, transaction: Transaction, event: Event, run: Execution) -> Generator[Notice]:
        task = transaction.tasks.get(run.task_id) if run.task_id and run.origin != "group" else None
        if task is None:
            news = (event.kind == "execution.reported" and run.live) or (event.kind in ENDED and run.report is None)
        else:
            # Its report moves nothing: its end does. Where that has blocked the task, the task tells; where another run
            # follows by itself, nobody is needed.
            news = event.kind in ENDED and task.status != "blocked" and not transaction.executions.is_overtaken(run)
        verdict = _verdict(run)
        if not news or verdict is None or (verdict[0] == "done" and (task is not None or run.group_id is not None)):
            return
        facts = {
            "role": self._name(transaction, run.agent_id),
            "run": run.id,
            "client": run.client,
            "reason": why(run),
            "summary": run.report.summary if run.report else "",
        }
        yield self._notice(transaction, event, verdict[0], verdict[1], f"run/{run.id}", run.id, **facts)

    def _of_group(self, transaction: Transaction, event: Event, run: Execution) -> Generator[Notice]:
        group = transaction.groups.get(run.group_id) if run.group_id else None
        if group is None:
            return
        ends = ends_of(transaction, group.id, event.cursor)
        if event.cursor not in ends.cursors:
            return
        good = sum(one.succeeded for one in ends.runs)
        facts = {"title": group.description, "good": good, "all": len(ends.runs)}
        yield self._notice(transaction, event, "done", "group_done", f"history?group={group.id}", group.id, **facts)

    def _name(self, transaction: Transaction, agent_id: str) -> str:
        agent = transaction.agents.get(agent_id)
        return agent.name if agent else agent_id

    def _notice(
        self,
        transaction: Transaction,
        event: Event,
        kind: NoticeKind,
        key: str,
        page: str,
        subject: str,
        **facts: object,
    ) -> Notice:
        title, text = told(key, self._language, **facts)
        project = transaction.projects.get(event.project_id) if event.project_id else None
        return Notice(
            id=identify(event, subject, kind),
            kind=kind,
            title=_presentable(title.replace("\n", " "), _TITLE_LENGTH),
            text=_presentable(text, _TEXT_LENGTH),
            subject=subject,
            project=project.name if project else None,
            at=event.at,
            url=f"{self._url}/#/{page}" if self._url else None,
        )


def _verdict(run: Execution) -> tuple[NoticeKind, str] | None:
    """What its end is for a person, and how it is told; None for what somebody stopped, who knows."""
    if run.succeeded:
        return "done", "run_done"
    if run.status == "cancelled" or (run.report is not None and run.report.status == "cancelled"):
        return None
    if run.status == "lost":
        return "needs_you", "run_lost"
    if run.failure_reason in _NEEDY:
        return "needs_you", f"run_{run.failure_reason}"
    if run.status == "timed_out" or (run.report is not None and run.report.status == "timeout"):
        return "failed", "run_timed_out"
    return "failed", "run_failed"


def _presentable(text: str, length: int) -> str:
    """Text of agents on its way to other programs: no tokens of ours, nothing that a terminal or a screen obeys."""
    clean = _CONTROL.sub(" ", strike_out_tokens(text)).strip()
    return clean if len(clean) <= length else clean[: length - 1] + "…"
