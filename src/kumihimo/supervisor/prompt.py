"""The prompt that an agent gets: who it is in this run, what the project has decided, what the stage before found out, and
what is wanted of it.

The role's system prompt comes before all of this, by the way that each CLI has for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from kumihimo.domain.execution import Execution
from kumihimo.services.settling import why
from kumihimo.services.sights import Sight
from kumihimo.toolsets.camel.executions import status_word

# A later stage is to know what came out of the one before, not every word of it.
_LONGEST = 20_000


def compose(run: Execution, before: Sequence[Sight], decisions: str = "") -> str:
    """`before` are the runs of the previous stage; `decisions` is the page of the project's memory bank, given word for word."""
    parts = [_introduction(run)]
    if decisions:
        parts.append(decisions)
    if before:
        parts.append(_results(before))
    parts.append(run.prompt)
    return "\n\n".join(parts)


def _introduction(run: Execution) -> str:
    group = f" of the group {run.group_id}" if run.group_id else ""
    return (
        f"You are the agent {run.id}{group}. When your work is done, or you can't do it, call the tool `report_result` "
        f'of the MCP server `kumihimo` once, with agentId "{run.id}", a status (success, failure, timeout or '
        "cancelled) and a summary of what you did; name the files that you edited or created, and put what others "
        "need from you into `response`."
    )


def _results(before: Sequence[Sight]) -> str:
    told = [_result(sight) for sight in before]
    return "\n\n".join(["Results of the stage before yours:", *told, "End of these results."])


def _result(sight: Sight) -> str:
    run, report = sight.execution, sight.execution.report
    outcome = report.status if report else status_word(run)
    lines = [f"- {sight.role} ({run.id}): {outcome}"]
    summary = report.summary if report else sight.seen.last_message
    if summary:
        lines.append(f"  Summary: {summary[:_LONGEST]}")
    if report and report.response:
        lines.append(f"  Response: {report.response[:_LONGEST]}")
    if not report and not run.succeeded:
        lines.append(f"  Error: {why(run)[:_LONGEST]}")
    if report and report.error_message:
        lines.append(f"  Error: {report.error_message[:_LONGEST]}")
    return "\n".join(lines)
