"""The story of the demo: who does what in which stage, played by scripted agents in the streams of real CLIs."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kumihimo.testing.scripts import Script

# A moment in which one can read what is on the screen.
_PAUSE = 0.35
CLIENTS = {"planner": "claude-code", "writer": "gemini-cli", "coder": "codex", "reviewer": "claude-code"}


class Part(Struct, frozen=True):
    """One agent of the demo. `steps` is how many tools it will have used at its end."""

    role: str
    wish: str
    script: Script
    steps: int

    def task(self) -> dict[str, Any]:
        return {"role": self.role, "prompt": self.script.prompt(self.wish)}


def stages() -> list[list[Part]]:
    return [[_planner(), _writer()], [_coder(), _reviewer()]]


def _planner() -> Part:
    script = (
        Script("planner", usage={"input": 5_210, "output": 640, "cost": 0.021})
        .say("Reading the shop to see where a login belongs.")
        .sleep(_PAUSE)
        .tool("Read", file_path="README.md", result="# Shop")
        .sleep(_PAUSE)
        .write("PLAN.md", "1. login.py with check(passkey)\n2. a test for it\n")
        .sleep(_PAUSE)
        .say("The plan is in PLAN.md.")
        .report_result(summary="Planned the login in two steps.", response="login.py needs check(passkey) -> bool.")
        .sleep(_PAUSE)
    )
    return Part("planner", "Plan a login with passkeys.", script, 3)


def _writer() -> Part:
    script = (
        Script("writer", usage={"input": 3_030, "output": 410})
        .say("Looking at what the guide says today.")
        .sleep(_PAUSE * 2)
        .tool("read_file", file_path="README.md", result="# Shop")
        .sleep(_PAUSE)
        .edit("README.md", "# Shop", "# Shop\n\nLog in with a passkey: see login.py.")
        .sleep(_PAUSE)
        .report_result(summary="The guide names the login.")
        .sleep(_PAUSE)
    )
    return Part("writer", "Prepare the guide for it.", script, 3)


def _coder() -> Part:
    script = (
        Script("coder", usage={"input": 12_870, "output": 1_930})
        .say("The plan asks for check(passkey). Writing it with its test.")
        .sleep(_PAUSE)
        .write("login.py", "def check(passkey: str) -> bool:\n    return passkey == 'let me in'\n")
        .sleep(_PAUSE)
        .write("test_login.py", "from login import check\n\nassert check('let me in') and not check('')\n")
        .sleep(_PAUSE)
        .shell("python3 test_login.py && echo passed")
        .sleep(_PAUSE)
        .report_result(
            summary="login.py and its test are there; the test passes.", response="Look at check() in login.py."
        )
        .sleep(_PAUSE)
    )
    return Part("coder", "Build what the plan says.", script, 4)


def _reviewer() -> Part:
    script = (
        Script("reviewer", usage={"input": 7_450, "output": 520, "cost": 0.03})
        .say("Comparing the plan with what is built.")
        .sleep(_PAUSE * 3)
        .tool("Read", file_path="PLAN.md", result="1. login.py")
        .sleep(_PAUSE * 2)
        .say("A passkey in the source is a finding; everything else holds.")
        .report_result(summary="One finding: the passkey stands in the source.")
        .sleep(_PAUSE)
    )
    return Part("reviewer", "Review the plan while it is built.", script, 2)
