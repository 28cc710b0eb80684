"""A day of work for pictures: groups that run, tasks on a board, something that went wrong, something handed over."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import Page

from kumihimo.testing import scripts
from kumihimo.testing.scripts import Script
from tests.hub.hub_kit import Scripted
from tests.lead.shop import Lead, Shop, until

_TASKS = [
    ("Sessions survive a restart", "done", "coder", "high"), ("Rotate the signing keys", "done", "coder", "medium"),
    ("Refuse tokens that were revoked", "in_progress", "coder", "critical"),
    ("Load test of the login page", "todo", "tester", "high"),
    ("Describe the login flow", "todo", "writer", "medium"), ("Passkeys", "backlog", "coder", "low"),
    ("Log in from a second device", "backlog", None, "medium"), ("Remove the old cookie format", "cancelled", "coder", "medium"),
]  # fmt: skip
_BEFORE = "def check(token):\n    user = find(token)\n    return user\n"
_AFTER = (
    "def check(token):\n    user = find(token)\n"
    "    if user.revoked_at is not None:\n        raise Revoked(token.id)\n    return user\n"
)


def tell(shop: Shop) -> dict[str, Any]:
    """Everything, until it stands as the pictures show it. Answers the ids of what they look at."""
    _repository(shop.folder)
    for role, prompt in (("planner", "claude-code"), ("reviewer", "claude-code")):
        shop.role(role, prompt, role=f"The {role} of this project")
    lead = shop.lead()
    finished = _earlier(shop, lead)
    _tasks(shop)
    _failed(shop, lead)
    worked = _worker(shop)
    _hub(shop, shop.log.parent)
    gate = shop.gate()
    working = _working(shop, lead, gate)
    return {"gate": gate, "finished": finished, "worked": worked, **working}


def _repository(folder: Path) -> None:
    (folder / "src").mkdir(exist_ok=True)
    (folder / "src" / "session.py").write_text(_BEFORE)
    script = "git init -q . && git config user.email a@example.org && git config user.name a && git add . && git commit -qm first"
    subprocess.run(script, shell=True, cwd=folder, check=True, timeout=60)


def _says(shop: Shop, *lines: str, tokens: int = 20_000) -> Script:
    script = shop.script()
    for line in lines:
        script = script.say(line)
    return script.use(tokens, tokens // 12, tokens / 200_000)


def _told(script: Script, words: str) -> str:
    """A prompt that is words for as far as it is shown in one line."""
    return script.prompt(
        f"{words} Stay with this, and write down in your report whatever else you notice on the way. {' ' * 40}"
    )


def _earlier(shop: Shop, lead: Lead) -> str:
    """What is over: a plan in two stages, the first run of which is the one that is looked at."""
    group = lead.call("create_group", description="Sessions: keep them across restarts", mode="sequential")["groupId"]
    first = (
        _says(shop, "I'll look at how a session is checked before I change anything.", tokens=84_000)
        .tool("Read", file_path="src/session.py", result=_BEFORE)
        .tool("Grep", pattern="def check", result="src/session.py:1")
        .say("A revoked token still finds its user. I'll refuse it where it is checked, with an error of its own.")
        .edit("src/session.py", _BEFORE, _AFTER)
        .tool("Bash", command="pytest -q tests/test_session.py", ok=False, result="1 failed, 11 passed in 0.84s")
        .say("The fixture has no revoked_at yet. Adding it.")
        .write(
            "tests/conftest.py", "import pytest\n\n\n@pytest.fixture\ndef user():\n    return User(revoked_at=None)\n"
        )
        .tool("Bash", command="pytest -q tests/test_session.py", result="12 passed in 0.79s")
        .report_result(
            summary="check() refuses revoked tokens; 12 tests pass.",
            response="The error is Revoked, with the id of the token. tests/conftest.py has a user fixture now.",
        )
    )
    second = _says(shop, "The change is small and tested. One remark on naming.", tokens=31_000).report_result(
        summary="Approved, with one remark on naming."
    )
    plan = lead.plan(
        group,
        [
            {
                "prompt": _told(
                    first,
                    "Refuse tokens that were revoked: check() finds their user all the same. Say which error it is, and test it.",
                )
            }
        ],
        [
            {
                "role": "reviewer",
                "prompt": _told(
                    second,
                    "Review the change to check(): names, tests, and a session that is open when its token is revoked.",
                ),
            }
        ],
    )
    runs = [one["agentId"] for one in plan["agents"]]
    lead.ended(*runs)
    return runs[0]


def _tasks(shop: Shop) -> None:
    numbers: dict[str, int] = {}
    for title, status, who, priority in _TASKS:
        words = [
            "task",
            "add",
            title,
            "--priority",
            priority,
            "--description",
            f"{title}, with tests.",
            "--dod",
            "make test",
        ]
        made = shop.kumi(
            *words, *(["--assignee", who] if who else []), *(["--depends-on", "3"] if "Load" in title else [])
        )
        numbers[title] = made["id"]
        _bring(shop, made["id"], status)
    blocked = shop.kumi("task", "add", "Publish the package", "--assignee", "writer")["id"]
    _bring(shop, blocked, "in_progress")
    shop.kumi(
        "task",
        "update",
        str(blocked),
        "--status",
        "blocked",
        "--reason",
        "Needs the password of the registry: who has it?",
    )
    shop.kumi("handoff", "create", str(numbers["Describe the login flow"]), "--from", "coder", "--to", "writer", "--summary",
              "The flow is settled; docs/login.md has an outline that wants words.")  # fmt: skip


def _bring(shop: Shop, number: int, status: str) -> None:
    ways = {
        "backlog": ["backlog"], "in_progress": ["in_progress"], "done": ["in_progress", "done"], "cancelled": ["cancelled"],
    }  # fmt: skip
    for step in ways.get(status, []):
        shop.kumi("task", "update", str(number), "--status", step, *(["--force"] if step == "done" else []))


def _failed(shop: Shop, lead: Lead) -> None:
    group = lead.call("create_group", description="Nightly: upgrade the dependencies")["groupId"]
    script = (
        _says(shop, "Upgrading one by one.", tokens=9_000)
        .errors("npm ERR! code ERESOLVE\n")
        .failure("could not resolve the tree of dependencies")
    )
    fine = _says(shop, "Nothing to upgrade in Python.", tokens=4_000).report_result(summary="Nothing to upgrade.")
    runs = lead.run(
        group, {"prompt": script.prompt("Upgrade.")}, {"prompt": fine.prompt("Upgrade."), "role": "planner"}
    )
    lead.ended(*runs)


def written_worker(folder: Path) -> list[str]:
    """The command of an agent that plays this whatever it is told: the task can then be read as a person would write it."""
    script = (
        Script()
        .say("The keys are rotated by hand today. I'll make that a setting, with a week as its default.")
        .write("src/keys.py", "EVERY_DAYS = 7\n")
        .shell("git add . && git commit -qm 'Rotate the signing keys every week'")
        .use(46_000, 3_800)
        .report_result(summary="Keys rotate every week; src/keys.py has the setting.")
    )
    file = folder / "worker.json"
    script.written(file)
    return scripts.command("qwen-code", script=file)


def _worker(shop: Shop) -> str:
    """A worker that has done its task in a worktree: nothing is missing but the merge."""
    shop.role("builder", "qwen-code", role="Small changes, one at a time")
    what = "They are rotated by hand, and twice nobody did. A setting, with a week as its default."
    words = [
        "task",
        "add",
        "Rotate the signing keys every week",
        "--assignee",
        "builder",
        "--priority",
        "high",
        "--description",
        what,
    ]
    task = shop.kumi(*words, "--depends-on", "1", "--write", "src/**", "--dod", "test -f src/keys.py")
    shop.kumi("worker", "run", str(task["id"]), "--exec", "--detach", "--auto")
    shop.kumi("worker", "wait", str(task["id"]))
    return task["taskId"]


def _hub(shop: Shop, folder: Path) -> None:
    tools = {
        "files": [
            ("read_file", "Read a file of the project."),
            ("search_files", "Find files by a pattern, newest first."),
        ],
        "tickets": [
            ("create_issue", "Open a ticket."),
            ("list_issues", "Tickets by state and label."),
            ("close_issue", "Close a ticket."),
        ],
        "symbols": [("find_symbol", "Where a name is defined."), ("find_references", "Where a name is used.")],
    }
    servers = [
        Scripted(folder, name, *({"name": tool, "description": about} for tool, about in own)).config
        for name, own in tools.items()
    ]
    (shop.folder / "mcp.config.yaml").write_text(yaml.safe_dump({"servers": servers}))
    for tool in (
        "files:read_file",
        "files:read_file",
        "tickets:list_issues",
        "symbols:find_symbol",
        "symbols:find_symbol",
    ):
        shop.kumi("hub", "call", tool, "{}")


def _working(shop: Shop, lead: Lead, gate: Path) -> dict[str, Any]:
    auth = lead.call("create_group", description="Auth: implement, test, review", mode="sequential")["groupId"]
    quick = _says(shop, "Done.", tokens=52_000).report_result(summary="Implemented.")
    busy = (
        _says(shop, "Reading session.py, line 212…", tokens=84_000)
        .tool("Read", file_path="src/session.py", result="…")
        .wait(gate)
    )
    plan = lead.plan(
        auth,
        [{"prompt": quick.prompt("Implement.")}, {"prompt": quick.prompt("Test."), "role": "planner"}],
        [{"prompt": busy.prompt("Review."), "role": "reviewer"}],
        [{"prompt": busy.prompt("Write it up."), "role": "writer"}],
    )
    docs = lead.call("create_group", description="Docs: three pages at once")["groupId"]
    pages = lead.run(
        docs, *({"prompt": _page(shop, page, gate), "role": "planner"} for page in ("tutorial", "how-to", "reference"))
    )
    running = plan["agents"][2]["agentId"]
    until(lambda: all(lead.status(run)["lastAssistantMessage"] for run in [running, *pages]))
    return {"running": running, "group": auth}


def type_plan(page: Page) -> None:
    """A plan in the start dialog, with one thing in it that will be refused."""
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What is it for?").fill("Passkeys: build, test, write up")
    dialog.get_by_role("button", name="+ Stage").click()
    typed = [
        (1, "coder", "Let a person log in with a passkey. Keep the old way until they have one."),
        (2, "tester", "Try it with two devices, and with one that is lost."),
        (2, "revewer", "Read it as somebody who wants to get in without one."),
    ]
    dialog.get_by_role("button", name="+ Agent").last.click()
    for place, (stage, role, prompt) in enumerate(typed):
        where = f"stage {stage}, agent {1 if place < 2 else 2}"
        dialog.get_by_label(f"Role, {where}").fill(role)
        dialog.get_by_label(f"Prompt, {where}").fill(prompt)


def _page(shop: Shop, page: str, gate: Path) -> str:
    return (
        _says(shop, f"Writing the {page}: first the outline, then the words.", tokens=12_000)
        .wait(gate)
        .prompt(f"Write the {page}.")
    )
