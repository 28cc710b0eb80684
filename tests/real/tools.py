"""From the neutral words of a scenario to the tools that a CLI has, and the shape of their arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.real.apis.api import Conversation, Tool, ToolCall

SERVER = "kumihimo"
Arguments = dict[str, Any]
Shape = Callable[[Arguments], Arguments]
# Where an agent works, as each CLI tells its model.
_FOLDER = re.compile(r"(?:orking directory: |<cwd>|in the directory: |Workspace Directories:\*\*\n  - )([^\n<]+)")


def _patch(*lines: str) -> Arguments:
    return {"patch": "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])}


def _added(given: Arguments) -> Arguments:
    return _patch(f"*** Add File: {given['path']}", *("+" + line for line in given["text"].splitlines()))


def _updated(given: Arguments) -> Arguments:
    return _patch(f"*** Update File: {given['path']}", "@@", "-" + given["old"], "+" + given["new"])


def _command(given: Arguments) -> Arguments:
    return {"command": given["command"], "description": "run a command"}


def _replaced(given: Arguments) -> Arguments:
    return {"file_path": given["path"], "old_string": given["old"], "new_string": given["new"]}


# For each word the tools that do it, in order: the first that is on offer is taken. Names differ enough from CLI to CLI.
TOOLS: dict[str, list[tuple[str, Shape]]] = {
    "shell": [
        ("Bash", _command),
        ("exec_command", lambda given: {"cmd": given["command"]}),
        ("run_shell_command", lambda given: {**_command(given), "is_background": False}),
        ("bash", _command),
    ],
    "read": [
        ("Read", lambda given: {"file_path": given["path"]}),
        ("read_file", lambda given: {"file_path": given["path"]}),
        ("exec_command", lambda given: {"cmd": f"cat {given['path']}"}),
        ("read", lambda given: {"filePath": given["path"]}),
        ("view", lambda given: {"path": given["path"]}),
    ],
    "write": [
        ("Write", lambda given: {"file_path": given["path"], "content": given["text"]}),
        ("apply_patch", _added),
        ("write_file", lambda given: {"file_path": given["path"], "content": given["text"]}),
        ("write", lambda given: {"filePath": given["path"], "content": given["text"]}),
        ("create", lambda given: {"path": given["path"], "file_text": given["text"]}),
    ],
    "edit": [
        ("Edit", _replaced),
        ("apply_patch", _updated),
        ("replace", lambda given: {**_replaced(given), "instruction": "change the line"}),
        # opencode, Qwen and Copilot have one name for it, and each other arguments.
        ("edit", lambda given: {
            **_replaced(given), "path": given["path"], "old_str": given["old"], "new_str": given["new"],
            "filePath": given["path"], "oldString": given["old"], "newString": given["new"],
        }),
    ],
}  # fmt: skip


def call(word: str, arguments: Arguments, conversation: Conversation) -> ToolCall:
    """The call that this CLI understands."""
    offered = conversation.tools
    if word.startswith("mcp:"):
        return _of_server(word.removeprefix("mcp:"), arguments, offered)
    names = {tool.name for tool in offered}
    for name, shape in TOOLS[word]:
        if name in names:
            shaped = shape(arguments if name == "apply_patch" else _absolute(arguments, conversation))
            return ToolCall(name, shaped, freeform=shaped.get("patch"))
    raise LookupError(f"no tool for {word!r} among {sorted(names)}")


def _absolute(arguments: Arguments, conversation: Conversation) -> Arguments:
    """Models name files from the root on, and some CLIs insist on it. Patches are relative."""
    if "path" not in arguments:
        return arguments
    for text in (conversation.system, *(message.text for message in conversation.messages)):
        if found := _FOLDER.search(text):
            return {**arguments, "path": f"{found[1].rstrip('/')}/{arguments['path']}"}
    return arguments


def _of_server(name: str, arguments: Arguments, offered: list[Tool]) -> ToolCall:
    for tool in offered:
        if SERVER in tool.group + tool.name and tool.name.endswith(name):
            return ToolCall(tool.name, arguments, tool.group)
    # Not on the list because it is to be looked up first: Claude takes it by its full name all the same.
    return ToolCall(f"mcp__{SERVER}__{name}", arguments)
