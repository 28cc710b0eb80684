"""Handoffs."""

from __future__ import annotations

from datetime import datetime

from kumihimo.services.handoffs import HandoffView
from kumihimo.toolsets.camel.answer import Answer


class HandoffAnswer(Answer, frozen=True):
    id: str
    handoff_id: str
    task: int
    task_id: str
    project_id: str
    from_agent: str
    from_agent_id: str
    to_agent: str | None
    to_agent_id: str | None
    summary: str
    context: str | None
    recommendations: str | None
    next_steps: list[str]
    warnings: list[str]
    status: str
    created_at: datetime
    accepted_at: datetime | None


class HandoffsAnswer(Answer, frozen=True):
    handoffs: list[HandoffAnswer]


def handoff(view: HandoffView) -> HandoffAnswer:
    it = view.handoff
    return HandoffAnswer(
        id=it.id,
        handoff_id=it.id,
        task=view.task.number,
        task_id=it.task_id,
        project_id=it.project_id,
        from_agent=view.from_agent.name,
        from_agent_id=it.from_agent_id,
        to_agent=view.to_agent.name if view.to_agent else None,
        to_agent_id=it.to_agent_id,
        summary=it.summary,
        context=it.context,
        recommendations=it.recommendations,
        next_steps=list(it.next_steps),
        warnings=list(it.warnings),
        status=it.status,
        created_at=it.created_at,
        accepted_at=it.accepted_at,
    )
