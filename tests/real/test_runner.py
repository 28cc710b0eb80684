"""S1's whole flow with the real CLIs: each is started by `kumi runner`, works, hands over, and another vendor's ends it."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.real.clis import CLIS, Cli, Settings
from tests.real.model import Model
from tests.real.scenarios import SCENARIOS, Scenario, Turn, Use
from tests.runner.yard import RunnerHome, Yard
from tests.supervisor.patience import until

pytestmark = pytest.mark.real

BY_NAME = {cli.name: cli for cli in CLIS}
FLOWS = [("claude-code", "codex"), ("codex", "gemini-cli"), ("gemini-cli", "claude-code")]
SECONDS = 180.0
_SESSION = r"{{answer:(sess_[0-9a-z]+)}}"
_LOGIN = Use(
    "mcp:authenticate",
    {
        "agent_id": r"{{prompt:agent_id: (\S+)}}",
        "passkey": r"{{prompt:passkey: (\S+)}}",
        "project_id": r"{{prompt:project_id: (\S+)}}",
    },
)


def mine(tool: str, **arguments: str) -> Turn:
    return Turn(uses=(Use(f"mcp:{tool}", {"session_token": _SESSION, **arguments}),))


def first(heir: str) -> Scenario:
    return Scenario(
        (
            Turn("I log in.", (_LOGIN,)),
            mine("get_my_task"),
            Turn(uses=(Use("write", {"path": "work.txt", "text": "the work\n"}),)),
            mine("save_context", progress="The file is written."),
            mine("create_handoff", to_agent_id=heir, summary="Look at work.txt."),
            mine("report_completed", result="success", summary="Written."),
            Turn("Done."),
        )
    )


SECOND = Scenario(
    (
        Turn("I log in.", (_LOGIN,)),
        mine("get_my_task"),
        mine("get_pending_handoffs"),
        mine("accept_handoff", handoff_id=r"{{answer:(hnd_[0-9a-z]+)}}"),
        mine("report_completed", result="success", summary="Looked at."),
        Turn("Done."),
    )
)


def speaking(cli: Cli, model: Model, home: Path, scenario: str) -> Settings:
    """The CLI, with a key by which the model knows what to play: the kick prompt is the product's own."""
    own = cli.pointed_at(model.url, home)
    return replace(
        own, env={name: f"scenario-{scenario}" if name.endswith("_KEY") else value for name, value in own.env.items()}
    )


def runner_of(yard: Yard, cli: Cli, own: Settings) -> RunnerHome:
    made = yard.runner(f"runner-{cli.name}", passkeys={cli.name: yard.agents[cli.name].passkey})
    config = made.home / "config.toml"
    config.write_text(config.read_text() + own.toml(cli.name))
    return made


@pytest.mark.parametrize(("giver", "taker"), FLOWS, ids=lambda name: name)
def test_a_task_goes_from_one_vendor_to_another_by_their_runners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, giver: str, taker: str
) -> None:
    with Model() as model:
        scenarios = {giver: "giver", taker: "taker"}
        own = {name: speaking(BY_NAME[name], model, tmp_path / name, scenarios[name]) for name in scenarios}
        models = {name: settings.model for name, settings in own.items()}
        yard = Yard(tmp_path / "yard", agents=(giver, taker), models=models)
        try:
            yard.up()
            heir = yard.agents[taker].agent.id
            monkeypatch.setitem(SCENARIOS, "giver", first(heir))
            monkeypatch.setitem(SCENARIOS, "taker", SECOND)
            task = yard.task("Write and look", giver)
            runners = [runner_of(yard, BY_NAME[name], own[name]) for name in scenarios]
            processes = [runner.spawn() for runner in runners]

            until(lambda: yard.show(task).status == "done", f"the task: {yard.said}", SECONDS)
            require_both(yard, task.id, giver, taker)
            for process in processes:
                process.send_signal(signal.SIGTERM)
                assert process.wait(30) == 0
            require_silence(yard, runners)
        finally:
            yard.close()


def require_both(yard: Yard, task: str, giver: str, taker: str) -> None:
    """Each was started once, did its part, and ended well; and the server knows."""
    assert (yard.project_folder / "work.txt").read_text() == "the work\n"
    until(lambda: all(one.state == "exited" for one in yard.instances()), "both ends", SECONDS)
    ends = [(one.agent_id, one.outcome, one.exit_code) for one in yard.instances()]
    assert ends == [(yard.agents[name].agent.id, "reported", 0) for name in (giver, taker)]
    (handoff,) = yard.board.store.read(lambda transaction: transaction.handoffs.many("WHERE task_id = ?", (task,)))
    assert (handoff.to_agent_id, handoff.accepted_at is not None) == (yard.agents[taker].agent.id, True)
    assert "The file is written." in str(yard.board.store.read(lambda t: t.contexts.many("WHERE task_id = ?", (task,))))


def require_silence(yard: Yard, runners: list[RunnerHome]) -> None:
    """No passkey is in what Kumihimo keeps: neither the server's home nor the Runners'. What a CLI keeps of its own
    conversations is in the folder of that CLI."""
    for home in (yard.home, *(runner.home for runner in runners)):
        for path in home.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                for agent in yard.agents.values():
                    assert agent.passkey.encode() not in content, path
    for agent in yard.agents.values():
        assert agent.passkey not in yard.said
