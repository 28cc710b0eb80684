"""Handoffs."""

from __future__ import annotations

from datetime import datetime

from kumihimo.domain.handoff import Handoff
from kumihimo.services.handoffs import HandoffView
from kumihimo.settings import Language
from kumihimo.toolsets.snake.answer import Answer, Shape


class HandoffShape(Shape, frozen=True):
    handoff_id: str
    task_id: str
    from_agent_id: str
    to_agent_id: str | None
    summary: str
    context: str | None
    recommendations: str | None
    next_steps: list[str]
    warnings: list[str]
    created_at: datetime
    accepted_at: datetime | None


class HandoffAnswer(Answer, frozen=True):
    handoff_id: str
    handoff: HandoffShape


class HandoffsAnswer(Answer, frozen=True):
    handoffs: list[HandoffShape]


def shape(it: Handoff) -> HandoffShape:
    return HandoffShape(
        handoff_id=it.id,
        task_id=it.task_id,
        from_agent_id=it.from_agent_id,
        to_agent_id=it.to_agent_id,
        summary=it.summary,
        context=it.context,
        recommendations=it.recommendations,
        next_steps=list(it.next_steps),
        warnings=list(it.warnings),
        created_at=it.created_at,
        accepted_at=it.accepted_at,
    )


def one(view: HandoffView, _: Language) -> HandoffAnswer:
    return HandoffAnswer(handoff_id=view.handoff.id, handoff=shape(view.handoff))


def many(views: list[HandoffView], _: Language) -> HandoffsAnswer:
    return HandoffsAnswer(handoffs=[shape(view.handoff) for view in views])
