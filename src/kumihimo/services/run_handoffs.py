"""Handoffs that are made from a run: its giver may be dead, or have said nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from kumihimo.domain.errors import ArtifactAway, InvalidValue
from kumihimo.domain.observation import Observation
from kumihimo.engine.processes.proofs import MOST_BYTES, NAME, ProofUnreadable, decode_proof
from kumihimo.services import contexts, executions, tasks
from kumihimo.services.board import Board
from kumihimo.services.handoff_drafts import Draft, Material, compose
from kumihimo.services.handoffs import HandoffView
from kumihimo.services.outputs import last_lines
from kumihimo.services.projects import Place
from kumihimo.services.tasks import Reference
from kumihimo.store.store import Transaction

_LOG_LINES = 20


def create_from_run(
    board: Board,
    place: Place,
    run: str,
    *,
    task: Reference | None = None,
    from_agent: str | None = None,
    to_agent: str | None = None,
    summary: str | None = None,
    context: str | None = None,
    recommendations: str | None = None,
    next_steps: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> HandoffView:
    """From what a run has left, whether it lives or not. What is given is said in place of that, steps and warnings before it.

    The log is read outside the command: a file may take longer than a command may.
    """
    material = _material(board, place, run, task)
    draft = compose(_with_files(board, material))
    about = task if task is not None else material.run.task_id
    if about is None:
        raise InvalidValue("task", "blank")
    return board.handoffs.create(
        place,
        about,
        from_agent=from_agent or material.run.agent_id,
        to_agent=to_agent,
        summary=draft.summary if summary is None else summary,
        context=draft.context if context is None else context,
        recommendations=draft.recommendations if recommendations is None else recommendations,
        next_steps=(*next_steps, *draft.next_steps),
        warnings=(*warnings, *draft.warnings),
    )


def newest_draft(board: Board, place: Place, task: Reference, agent: str) -> Draft | None:
    """What the newest run of an agent on a task has left; None where it has not worked on it."""

    def look(transaction: Transaction) -> str | None:
        giver = transaction.agents.named(agent) or transaction.agents.get(agent)
        if giver is None:
            return None
        about = tasks.find(transaction, place, task)
        page = transaction.executions.page(task_id=about.id, agent_id=giver.id, limit=1)
        return page.items[0].id if page.items else None

    run = board.store.read(look)
    return None if run is None else compose(_with_files(board, _material(board, place, run, task)))


def _material(board: Board, place: Place, reference: str, task: Reference | None) -> Material:
    def look(transaction: Transaction) -> Material:
        run = executions.find(transaction, reference)
        giver = transaction.agents.get(run.agent_id)
        about = tasks.find(transaction, place, task) if task is not None else None
        if about is None and run.task_id is not None:
            about = transaction.tasks.get(run.task_id)
        return Material(
            run=run,
            role=giver.name if giver else run.agent_id,
            seen=transaction.observations.of(run.id) or Observation(run.id),
            context=contexts.gather(transaction, about) if about else None,
        )

    return board.store.read(look)


def _with_files(board: Board, material: Material) -> Material:
    """With what it has written, where that can be had."""
    run = material.run
    # Only of a run that was started here is the log in the run's own folder; others name whatever file they like.
    if run.log_path is None or run.origin not in ("group", "worker"):
        return material
    lines: list[str] = []
    with suppress(ArtifactAway):
        lines = last_lines(board.artifacts, run, material.seen, _LOG_LINES)
    try:
        kept = board.artifacts.whole(run, NAME, MOST_BYTES)
        proof, trouble = None if kept is None else decode_proof(kept, Path(run.log_path).with_name(NAME)), None
    except (ArtifactAway, ProofUnreadable) as error:
        proof, trouble = None, str(error)
    return replace(material, lines=lines, proof=proof, proof_trouble=trouble)
