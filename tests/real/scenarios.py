"""What the scripted model says and does. `[[scenario:NAME]]` in the prompt chooses one, or else the API key `scenario-NAME`.

Strings may hold `{{prompt:REGEX}}`, `{{earlier:REGEX}}` and `{{answer:REGEX}}`: the first group, found in the prompt that has
the mark, in what was said before it, or in what a tool has answered, the last one first. Tools are named by neutral words;
`tools.py` has what they are in each CLI.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# The id that a run is given in its prompt.
OWN_RUN = r"{{prompt:\b(exec_[0-9a-z]+)}}"


@dataclass(frozen=True)
class Use:
    """A tool, by a neutral word: shell, read, write, edit, or `mcp:` and the name of a tool of ours."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Turn:
    """One answer of the model. Without a status it succeeds."""

    text: str = ""
    uses: tuple[Use, ...] = ()
    # An error, at every try.
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    # It is taken and never answered.
    hangs: bool = False
    # It is answered when the test opens this gate.
    gate: str | None = None


@dataclass(frozen=True)
class Scenario:
    turns: tuple[Turn, ...]
    # What follows where the conversation holds an earlier prompt of this scenario: it was resumed.
    resumed: tuple[Turn, ...] | None = None


def _use(tool: str, **arguments: Any) -> Turn:
    return Turn(uses=(Use(tool, arguments),))


_REPORT = {"agentId": OWN_RUN, "status": "success", "summary": "Reported by the scripted model."}

SCENARIOS: dict[str, Scenario] = {
    "hello": Scenario((Turn("Hello from the scripted model."),)),
    # `existing.txt` is there, with a line `old line`. Claude must have read what it edits.
    "edit": Scenario((
        _use("write", path="new.txt", text="a new file\n"),
        _use("read", path="existing.txt"),
        _use("edit", path="existing.txt", old="old line", new="new line"),
        Turn("Created new.txt and edited existing.txt."),
    )),
    # In a repository: what is committed can be merged.
    "commit": Scenario((
        _use("write", path="page.txt", text="a page\n"),
        _use("shell", command="git add page.txt && "
             "git -c user.name=Agent -c user.email=agent@example.com commit -q -m 'Write the page'"),
        Turn("I report.", (Use("mcp:report_result", _REPORT),)),
        Turn("Committed page.txt."),
    )),
    "report": Scenario((
        Turn("I report.", (Use("mcp:report_result", _REPORT),)),
        Turn("Reported."),
    )),
    # Behind the hub of the project: by our own tool, and by the tool of the server as it is shown.
    "hub": Scenario((
        Turn("I call.", (Use("mcp:hub_call", {"tool": "alpha:echo", "params": {"word": "KUMQUAT"}}),)),
        Turn("It said {{answer:(KUMQUAT)}}."),
    )),
    "exposed": Scenario((
        Turn("I call.", (Use("mcp:alpha__echo", {"word": "KUMQUAT"}),)),
        Turn("It said {{answer:(KUMQUAT)}}."),
    )),
    "rate_limit": Scenario((Turn("The scripted limit is reached.", status=429, headers={"retry-after": "1"}),)),
    "auth": Scenario((Turn("The scripted key is not valid.", status=401),)),
    "hang": Scenario((Turn(hangs=True),)),
    # Claude refuses a bare `sleep`.
    "long_shell": Scenario((
        _use("shell", command="python3 -c 'import time; time.sleep(60)'"),
        Turn("The command has ended."),
    )),
    "gated": Scenario((Turn("The gate is open.", gate="gate"),)),
    "resume": Scenario(
        (Turn("I will remember it."),),
        resumed=(Turn(r"I remember {{earlier:the word is (\w+)}}."),),
    ),
}  # fmt: skip
