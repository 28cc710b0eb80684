"""S1's whole flow by `kumi runner`: from a task in progress to its end, by one agent and by two."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.runner.conftest import MakeYard
from tests.runner.yard import Yard, logs_in, of_session, reports
from tests.supervisor.patience import until


def test_an_agent_is_started_logs_in_works_and_reports_and_its_end_is_told(yard: Yard) -> None:
    task = yard.task("Write the page")
    runner = yard.runner(play=reports(logs_in(yard.script()).write("page.html", "<h1>"), summary="done"))
    process = runner.spawn()

    yard.until_status(task, "done")
    (instance,) = yard.until_instances(lambda found: found[0].state == "exited")
    assert (instance.outcome, instance.exit_code, instance.signal) == ("reported", 0, None)
    assert instance.working_directory == str(yard.project_folder)
    assert (yard.project_folder / "page.html").read_text() == "<h1>"
    (start,) = yard.records("start")
    assert start["cwd"] == str(yard.project_folder)
    assert start["environment"]["KUMI_RUN_TOKEN"].startswith("kins_")
    runner.until_events("delivered")
    kinds = [event["event"] for event in runner.events()]
    assert kinds == ["connected", "started", "ended", "delivered"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert list((runner.home / "runner" / "outbox").iterdir()) == []


def test_a_handoff_starts_the_next_agent_of_another_vendor_and_the_task_ends_once(make_yard: MakeYard) -> None:
    yard = make_yard(agents=("codex", "claude-code"))
    yard.up()
    heir = yard.agents["claude-code"].agent.id
    task = yard.task("Build and review", "codex")
    first = of_session(logs_in(yard.script(name="first")), "save_context", progress="half of it")
    first = reports(of_session(first, "create_handoff", to_agent_id=heir, summary="please review"))
    second = of_session(logs_in(yard.script(name="second")), "get_pending_handoffs")
    second = of_session(second, "accept_handoff", handoff_id="{{answer:get_pending_handoffs.handoffs.0.handoff_id}}")
    # Two Runners: each knows one agent's passkey, and leaves the other's alone.
    for client, script in (("codex", first), ("claude-code", reports(second, summary="reviewed"))):
        keys = {client: yard.agents[client].passkey}
        yard.runner(f"runner-{client}", plays={client: script}, passkeys=keys).spawn()

    done = yard.until_status(task, "done")
    assert done.assignee_id == heir
    yard.until_records("end", 2)
    assert [record["name"] for record in yard.records("start")] == ["first", "second"]
    calls = [(record["name"], record["tool"], record["ok"]) for record in yard.records("mcp")]
    assert calls == [
        ("first", "authenticate", True),
        ("first", "get_my_task", True),
        ("first", "save_context", True),
        ("first", "create_handoff", True),
        ("first", "report_completed", True),
        ("second", "authenticate", True),
        ("second", "get_my_task", True),
        ("second", "get_pending_handoffs", True),
        ("second", "accept_handoff", True),
        ("second", "report_completed", True),
    ]
    yard.until_instances(lambda found: [one.state for one in found] == ["exited", "exited"])
    assert [one.outcome for one in yard.instances()] == ["reported", "reported"]


def test_once_starts_what_may_start_waits_for_its_end_and_stops(yard: Yard) -> None:
    runner = yard.runner(play=reports(logs_in(yard.script())))
    assert runner.spawn("--once").wait(60) == 0
    assert yard.records("start") == []
    task = yard.task()
    assert runner.spawn("--once").wait(60) == 0
    assert yard.show(task).status == "done"
    assert [one.state for one in yard.instances()] == ["exited"]


def test_without_a_server_the_home_itself_is_asked_and_started(make_yard: MakeYard) -> None:
    for server in ((), ("--server", "stdio")):
        yard = make_yard(f"home{len(server)}")
        task = yard.task()
        runner = yard.runner("server", play=reports(logs_in(yard.script())), token=" ")
        runner.variables["KUMI_TOKEN"] = ""
        process = yard.spawn_local(runner, *server)
        yard.until_status(task, "done")
        yard.until_instances(lambda found: found[0].state == "exited")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_no_more_than_max_concurrent_work_at_once_and_all_are_worked_off(make_yard: MakeYard) -> None:
    yard = make_yard(agents=("codex", "claude-code", "gemini-cli"))
    yard.up()
    gate = yard.folder / "gate"
    tasks = [yard.task(client, client) for client in yard.agents]
    runner = yard.runner(play=reports(logs_in(yard.script()).note("in").wait(gate)), settings=("max_concurrent = 2",))
    runner.spawn()
    yard.until_records("note", 2)
    # The third has work, and the Runner does not even ask for it.
    assert len(yard.instances()) == 2
    gate.touch()
    for task in tasks:
        yard.until_status(task, "done")
    assert len(yard.records("start")) == 3


def test_an_agent_without_a_passkey_here_is_left_alone_and_said_once(make_yard: MakeYard) -> None:
    yard = make_yard(agents=("codex", "claude-code"))
    yard.up()
    theirs, ours = yard.task("theirs", "claude-code"), yard.task("ours", "codex")
    runner = yard.runner(play=reports(logs_in(yard.script())), passkeys={"codex": yard.agents["codex"].passkey})
    runner.spawn()
    yard.until_status(ours, "done")
    (ignored,) = runner.until_events("ignored")
    assert ignored["agentId"] == yard.agents["claude-code"].agent.id
    # Asked for the second time after that, and said no more.
    later = yard.task("later", "codex")
    yard.until_status(later, "done")
    assert len(runner.events("ignored")) == 1
    assert yard.show(theirs).status == "in_progress"


def test_a_project_whose_folder_is_elsewhere_is_not_worked_on_here(yard: Yard) -> None:
    task = yard.task()
    yard.project_folder.rename(yard.folder / "moved")
    runner = yard.runner(play=reports(logs_in(yard.script())))
    yard.project_folder = yard.folder / "moved"
    runner.spawn()
    (told,) = runner.until_events("homeless")
    assert told["directory"] == str(yard.folder / "project")
    assert yard.show(task).status == "in_progress"
    assert yard.instances() == []
    # Nobody was told to start it: whoever has the folder may.
    assert yard.board.instances.should_start(yard.agents["codex"].agent.id, yard.project.id).start


def test_the_passkey_and_the_token_are_in_nothing_that_is_kept(yard: Yard) -> None:
    passkey = yard.agents["codex"].passkey
    leak = r"passkey {{prompt:passkey: (\S+)}} token {{env:KUMI_RUN_TOKEN}} end"
    gate = yard.folder / "gate"
    script = logs_in(yard.script()).say(leak).errors(leak + "\n").wait(gate)
    task = yard.task()
    runner = yard.runner(play=script.exit(3))
    process = runner.spawn()
    (start,) = yard.until_records("start")
    until(
        lambda: any(folder.err.exists() and passkey.encode() in folder.err.read_bytes() for folder in runner.folders())
    )
    token = start["environment"]["KUMI_RUN_TOKEN"]
    # Neither the Runner's own token nor anybody's passkey is in the environment of an agent, nor in its arguments.
    environ = Path(f"/proc/{start['pid']}/environ").read_bytes()
    assert passkey.encode() not in environ
    assert runner._token.encode() not in environ
    assert passkey not in str(start["argv"])
    gate.touch()
    runner.until_events("delivered")
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    assert yard.show(task).status == "in_progress"
    yard.board.store.close()
    kept = [path for folder in (yard.home, runner.home) for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "out" for path in kept)
    for path in [*kept, yard.folder / "said"]:
        content = path.read_bytes()
        assert passkey.encode() not in content, path
        assert token.encode() not in content, path
