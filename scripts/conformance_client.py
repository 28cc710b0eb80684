"""Run the official conformance suite against a client on our wire, and count its checks.

One line is printed for each run, `NAME: N passed, M failed`. The exit code is 1 if any check failed, or if a scenario that
belongs to the run had no checks. A suite runs its scenarios all at once: one that came too late for a clock, and has nothing
else against it, is judged once more by itself.
"""

import re
import sys

from judge import ROOT, Run, Verdict, ask, judge, judge_all

CLIENT = ROOT / "tests" / "conformance" / "client.py"
RUNS = (
    ("0.1.16 client all", "0.1.16", ("--suite", "all"), ()),
    ("0.2.0-alpha.12 client 2026-07-28", "0.2.0-alpha.12", ("--requirements", "2026-07-28"), ("--requirements", "2026-07-28")),
)  # fmt: skip
SECONDS = 60
_CLOCK = "-timing: "


def expected(version: str, options: tuple[str, ...]) -> set[str]:
    """The client scenarios that belong to a run, as the suite itself lists them."""
    listed = ask(version, "list", *(options or ("--client",)))
    _, _, clients = listed.partition("Client scenarios")
    mandatory, _, _ = clients.partition("\n\n")
    return set(re.findall(r"^ +- (\S+)", mandatory, re.MULTILINE))


def problems(found: Run, names: set[str]) -> list[str]:
    counted = {verdict.scenario: verdict for verdict in found.verdicts}
    silent = [f"no checks {name}" for name in sorted(names | counted.keys()) if not _checks(counted.get(name))]
    return silent + [f"failed {label}" for verdict in found.verdicts for label in verdict.failed]


def once_more(found: Run, version: str, command: tuple[str, ...]) -> Run:
    """The run, with another verdict on whoever was only too late."""
    verdicts: list[Verdict] = []
    for verdict in found.verdicts:
        if verdict.failed and all(_CLOCK in label for label in verdict.failed):
            print(f"  judged once more by itself: {'; '.join(verdict.failed)}", flush=True)
            verdicts += judge(
                f"{version} {verdict.scenario}", version, *command, "--scenario", verdict.scenario
            ).verdicts
        else:
            verdicts.append(verdict)
    return Run(verdicts, found.said)


def _checks(verdict: Verdict | None) -> int:
    return len(verdict.passed) + len(verdict.failed) if verdict else 0


def run(name: str, version: str, options: tuple[str, ...], listing: tuple[str, ...], *, verbose: bool) -> bool:
    """One run of the suite; True where nothing is wrong with it."""
    names = expected(version, listing)
    command = ("client", "--command", f"{sys.executable} {CLIENT}", "--timeout", str(SECONDS * 1000))
    found = once_more(judge(name, version, *command, *options), version, command)
    wrong = problems(found, names) or ([] if names else ["the suite lists no scenarios"])
    print(f"{name}: {found.count('passed')} passed, {found.count('failed')} failed", flush=True)
    for problem in wrong:
        print(f"  {problem}")
    for verdict in found.verdicts:
        for label in verdict.warnings:
            print(f"  warning {label}")
    if verbose or not found.count("passed"):
        print(found.said[-8000:])
    return not wrong


if __name__ == "__main__":
    raise SystemExit(judge_all((__doc__ or "").splitlines()[0], RUNS, run))
