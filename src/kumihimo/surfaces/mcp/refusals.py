"""From error to answer, one table per dialect: a tool result with `isError`, or a JSON-RPC error with a number."""

from __future__ import annotations

from typing import Any

import msgspec

from kumihimo.domain import errors, group
from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.messages import render
from kumihimo.settings import Language
from kumihimo.toolsets.toolset import DialectName
from kumihimo.wire.content import Text
from kumihimo.wire.errors import INVALID_PARAMS, InvalidParams, RpcError
from kumihimo.wire.tool import ToolRefusal, ToolResult

SERVER_ERROR = -32000

# The first that fits: the kind of error, its number, and its name on the wire.
EDITOR: tuple[tuple[type[KumihimoError], int, str], ...] = (
    (errors.TaskNotFound, -32001, "TaskNotFound"),
    (errors.AgentNotFound, -32002, "AgentNotFound"),
    (errors.SessionNotFound, -32003, "SessionNotFound"),
    (errors.SessionAlreadyRunning, -32005, "SessionAlreadyRunning"),
    (errors.WrongState, -32004, "InvalidStatus"),
    (errors.ConfigError, -32006, "ConfigError"),
    (errors.InvalidValue, -32007, "ValidationError"),
    (errors.NotFound, -32007, "ValidationError"),
    (errors.GitError, -32008, "GitError"),
)


# The names that S0 has for refusals; the first that fits.
LEAD: tuple[tuple[type[KumihimoError], str], ...] = (
    (errors.GroupNotFound, "GROUP_NOT_FOUND"),
    (errors.ExecutionNotFound, "AGENT_NOT_FOUND"),
    (errors.AmbiguousReference, "AGENT_NOT_FOUND"),
    (errors.RoleNotFound, "ROLE_NOT_FOUND"),
    (errors.GroupNotActive, "GROUP_NOT_ACTIVE"),
    (errors.GroupHasRunningAgents, "GROUP_HAS_RUNNING_AGENTS"),
    (errors.ModeMismatch, "MODE_MISMATCH"),
    (errors.RoleUnavailable, "ROLE_UNAVAILABLE"),
    (errors.MaxConcurrentReached, "MAX_CONCURRENT_REACHED"),
    (errors.EmptyAgents, "EMPTY_AGENTS"),
    (errors.EmptyStages, "EMPTY_STAGES"),
    (errors.EmptyStageTasks, "EMPTY_STAGE_TASKS"),
    (errors.PlanFailed, "SEQUENTIAL_START_FAILED"),
    (errors.StartFailed, "AGENTS_START_FAILED"),
    (errors.ReportRefused, "REPORT_REFUSED"),
    (errors.NotResumable, "AGENT_NOT_RESUMABLE"),
    (errors.InvalidValue, "INVALID_VALUE"),
    (errors.GitError, "GIT_FAILED"),
    (errors.StoreError, "STORE_FAILED"),
)


def refuse(dialect: DialectName, error: KumihimoError, language: Language) -> Exception:
    """What is raised to `wire` in place of a refusal of ours."""
    if dialect == "camel":
        return _editor(error, language)
    if dialect == "resident":
        return _resident(error, language)
    if dialect == "hub":
        code = str(error.facts.get("upstream_code") or error.code)
        reason = str(error.facts.get("reason")) if "upstream_code" in error.facts else render(error, language)
        retryable = error.facts.get("retryable") is True
        return _said({"success": False, "error": {"code": code, "message": reason, "retryable": retryable}})
    if dialect == "lead":
        return _said({"error": True, "code": _lead_code(error), "message": render(error, language)})
    return _said({"success": False, "error": render(error, language), "code": error.code})


def refuse_arguments(dialect: DialectName, reason: str) -> Exception:
    """Arguments that break the schema of a tool."""
    if dialect == "snake":
        return _said({"success": False, "error": f"Invalid params: {reason}", "code": "InvalidParams"})
    return InvalidParams(f"Invalid params: {reason}", {"code": "InvalidParams"})


def _said(refusal: dict[str, Any]) -> ToolRefusal:
    """A refusal is text alone: clients hold structured content against the schema of an answer, which it is not."""
    return ToolRefusal(ToolResult([Text(text=msgspec.json.encode(refusal).decode())], is_error=True))


def _lead_code(error: KumihimoError) -> str:
    if isinstance(error, errors.AmbiguousReference) and str(error.facts["name"]).startswith(group.PREFIX):
        return "GROUP_NOT_FOUND"
    return next((name for kind, name in LEAD if isinstance(error, kind)), "REFUSED")


def _editor(error: KumihimoError, language: Language) -> RpcError:
    for kind, code, name in EDITOR:
        if isinstance(error, kind):
            return RpcError(code, render(error, language), {"code": name})
    return RpcError(SERVER_ERROR, render(error, language), {"code": error.code})


def _resident(error: KumihimoError, language: Language) -> RpcError:
    if isinstance(error, errors.InvalidValue):
        return RpcError(INVALID_PARAMS, f"Invalid params: {render(error, language)}", {"code": error.code})
    if isinstance(error, errors.AgentNotFound):
        return RpcError(SERVER_ERROR, f"Agent not found: {error.facts['name']}", {"code": error.code})
    return RpcError(SERVER_ERROR, render(error, language), {"code": error.code})
