"""Logins: sessions of agents on projects."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from kumihimo.domain.errors import AgentBusy, LoginRefused, TokenRefused
from kumihimo.domain.session import Session
from kumihimo.operations.operation import Arguments, Call, operation
from kumihimo.services.definitions import defined
from kumihimo.services.sessions import Login


class Authenticate(Arguments, frozen=True):
    agent_id: Annotated[str, Meta(description="Your agent id.")]
    passkey: Annotated[str, Meta(description="Your passkey.")]
    project_id: Annotated[str, Meta(description="The project you are to work on.")]


class Logout(Arguments, frozen=True):
    session_token: Annotated[str, Meta(description="The token that authenticate answered.")]


@operation("login.authenticate", Authenticate, Login, LoginRefused, AgentBusy, slow=True)
def authenticate(call: Call, arguments: Authenticate) -> Login:
    """Log in to a project. The token in the answer stands for you from then on."""
    if not call.caller.may_be(arguments.agent_id, arguments.project_id):
        raise LoginRefused
    login = call.board.sessions.authenticate(arguments.agent_id, arguments.passkey, arguments.project_id)
    return replace(login, agent=defined(login.agent, call.settings))


@operation("login.logout", Logout, Session, TokenRefused)
def logout(call: Call, arguments: Logout) -> Session:
    """End the session; the token is good no longer."""
    return call.board.sessions.logout(arguments.session_token)


OPERATIONS = (authenticate, logout)
