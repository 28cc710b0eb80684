"""Roles, with what is known about the program behind each."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType, field

from kumihimo.operations.roles import Role
from kumihimo.toolsets.camel.answer import Answer


class HealthCheckAnswer(Answer, frozen=True):
    status: str
    reason: str | UnsetType = UNSET
    response_time_ms: int | UnsetType = field(name="responseTime_ms", default=UNSET)
    checked_at: datetime | UnsetType = UNSET


class ModelValidationAnswer(Answer, frozen=True):
    status: str
    message: str | UnsetType = UNSET
    checked_at: datetime | UnsetType = UNSET


class RoleAnswer(Answer, frozen=True):
    id: str
    name: str
    description: str
    client: str
    model: str | None
    available: bool
    health_check: HealthCheckAnswer
    model_validation: ModelValidationAnswer
    version: str | UnsetType = UNSET


class RolesAnswer(Answer, frozen=True):
    roles: list[RoleAnswer]


def role(it: Role) -> RoleAnswer:
    health = it.health
    return RoleAnswer(
        id=it.agent.name,
        name=it.agent.name,
        description=it.agent.role,
        client=it.agent.client,
        model=it.agent.model,
        available=health.available,
        health_check=HealthCheckAnswer(
            status=health.status,
            reason=health.reason or UNSET,
            response_time_ms=UNSET if health.response_time_ms is None else health.response_time_ms,
            checked_at=health.checked_at or UNSET,
        ),
        model_validation=ModelValidationAnswer(
            status=health.model_status,
            message=health.model_message or UNSET,
            checked_at=health.model_checked_at or UNSET,
        ),
        version=health.version or UNSET,
    )


def roles(it: list[Role]) -> RolesAnswer:
    return RolesAnswer(roles=[role(one) for one in it])
