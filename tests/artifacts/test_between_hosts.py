"""What a run has written is read from any door: streamed from its host, or told where it is and why it can't be had."""

from __future__ import annotations

import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from kumihimo.app import open_board
from kumihimo.domain.errors import ArtifactAway
from kumihimo.domain.token import Token
from kumihimo.services.passes import sign_pass
from tests.artifacts.distance import Pair, answer_of, execute, move_away, refusal_of
from tests.supervisor.home import Home
from tests.supervisor.patience import until

LONG = 9 << 20


def test_what_a_run_has_written_is_read_at_every_door(pair: Pair) -> None:
    run = pair.done(pair.home.script("far").lines(5).errors("it complained").say("I am done."))
    host, other = pair.host_of(run), pair.other_than(run)
    for door in (host, other):
        assert any("I am done." in line for line in answer_of(door, "run/output", run=run.id)["lines"]), door
    said = [entry["text"] for entry in answer_of(other, "run/conversation", run=run.id)["entries"] if entry.get("text")]
    assert any("I am done." in text for text in said)
    assert "it complained" in answer_of(other, "run/errors", run=run.id)["text"]
    kept = (host.home.run_folder(run).path / "proof.json").read_bytes()
    fetched = other.ask("GET", f"/artifacts/{run.id}/proof.json", other.token)
    assert fetched.status == 404
    assert host.ask("GET", f"/artifacts/{run.id}/proof.json", other.token).body == kept
    made_at = answer_of(other, "run/proof", run=run.id)["madeAt"]
    assert made_at.encode() in kept or made_at[:19].encode() in kept


def test_what_a_run_prints_is_read_elsewhere_while_it_goes_on(pair: Pair) -> None:
    gates = [pair.home.folder / name for name in ("first", "second")]
    script = pair.home.script("going on").say("before")
    for gate, word in zip(gates, ("middle", "after"), strict=True):
        script.wait(gate).say(word)
    run = pair.begin(script)
    other = pair.other_than(run)
    cursor, lines = None, []
    for gate, word in zip([*gates, None], ("before", "middle", "after"), strict=True):

        def look(word: str = word) -> bool:
            nonlocal cursor
            found = answer_of(other, "run/output", run=run.id, **({"cursor": cursor} if cursor else {}))
            cursor = found["nextCursor"]
            lines.extend(found["lines"])
            return any(word in line for line in lines)

        until(look, word)
        if gate is not None:
            gate.touch()
    pair.home.ended([run])
    while not (rest := answer_of(other, "run/output", run=run.id, cursor=cursor))["done"]:
        cursor = rest["nextCursor"]
        lines.extend(rest["lines"])
    lines.extend(rest["lines"])
    whole = pair.host_of(run).home.run_folder(run).out.read_text().splitlines()
    assert lines == whole


def test_the_terminal_of_another_host_reads_it_as_well(pair: Pair) -> None:
    run = pair.done(pair.home.script("far").say("I am done."))
    other = pair.other_than(run).home
    words = [sys.executable, "-m", "kumihimo", "run", "logs", run.id]
    done = subprocess.run(words, env=other.environment, cwd=other.folder, capture_output=True, text=True, check=True)
    assert "I am done." in done.stdout


def test_a_line_longer_than_a_door_gives_at_once_is_read_whole(pair: Pair) -> None:
    run = pair.done(pair.home.script("long"))
    host, board = pair.host_of(run), pair.home.board
    content = b"x" * LONG + b"\nthe end\n"
    host.home.run_folder(run).out.write_bytes(content)
    board.executions.observe([replace(board.executions.sight(run.id).seen, position=len(content))])
    found = answer_of(pair.other_than(run), "run/output", run=run.id)
    assert [len(line) for line in found["lines"]] == [LONG, len("the end")]
    assert found["done"] is True


def test_what_was_not_looked_at_for_secrets_leaves_no_host(pair: Pair) -> None:
    gate = pair.home.folder / "gate"
    run = pair.begin(pair.home.script("secretive").say("harmless").errors("secret errors").wait(gate))
    host = pair.host_of(run)
    until(lambda: "harmless" in host.ask("GET", f"/artifacts/{run.id}/out", host.token).body.decode(), "its words")
    with host.home.run_folder(run).out.open("ab") as out:
        out.write(b"half a secret")
    got = host.ask("GET", f"/artifacts/{run.id}/out?begin=0&end=999999", host.token)
    assert b"secret" not in got.body
    assert int(got.headers["kumi-size"]) == len(got.body)
    assert host.ask("GET", f"/artifacts/{run.id}/err", host.token).status == 404
    assert host.ask("GET", f"/artifacts/{run.id}/proof.json", host.token).status == 404
    gate.touch()
    pair.home.ended([run])
    assert b"secret errors" in host.ask("GET", f"/artifacts/{run.id}/err", host.token).body


def test_files_of_runs_are_for_the_owner_and_for_doors_of_the_board_alone(pair: Pair) -> None:
    run = pair.done(pair.home.script("far").say("I am done."))
    host, board = pair.host_of(run), pair.home.board
    path = f"/artifacts/{run.id}/out"
    key, soon = board.tokens.signing_key(), board.clock() + timedelta(seconds=60)
    good = sign_pass(key, host.host_id, path, soon)
    assert host.ask("GET", path, good).status == 200
    assert host.ask("GET", path, pair.other_than(run).token).status == 200
    wrong = {
        "none": None,
        "another key": sign_pass(b"x" * 32, host.host_id, path, soon),
        "too late": sign_pass(key, host.host_id, path, board.clock() - timedelta(seconds=1)),
        "for another host": sign_pass(key, pair.other_than(run).host_id, path, soon),
        "for another file": sign_pass(key, host.host_id, f"/artifacts/{run.id}/err", soon),
        "altered": good[:-1] + ("A" if good[-1] != "A" else "B"),
        "a Runner's": board.tokens.issue(Token("runner")),
        "a run's": board.tokens.issue(Token("run", run.agent_id, run.project_id, run.id)),
    }
    for what, token in wrong.items():
        assert host.ask("GET", path, token).status in (401, 403), what
    assert host.ask("GET", path, host.token, host="evil.example").status == 403
    assert host.ask("GET", path, host.token, origin="http://evil.example").status == 403
    # A pass opens nothing else.
    assert host.ask("GET", "/metrics", good).status == 401


@pytest.mark.parametrize(
    "path",
    ["../token", "..%2ftoken", "%2e%2e/token", "{run}/../../token", "{run}/in", "{run}/started", "{run}/private/x",
     "{run}/out/", "{run}", "exec_nobody/out", "/etc/passwd", "{run}/out%00"],
)  # fmt: skip
def test_no_path_leads_out_of_the_files_of_a_run(pair: Pair, path: str) -> None:
    run = pair.done(pair.home.script("far"))
    host = pair.host_of(run)
    found = host.ask("GET", f"/artifacts/{path.format(run=run.id)}", host.token)
    assert found.status == 404
    assert host.token.encode() not in found.body


def test_a_piece_is_bounded_and_asked_for_in_whole_numbers(pair: Pair) -> None:
    run = pair.done(pair.home.script("far").lines(10))
    host = pair.host_of(run)
    whole = host.home.run_folder(run).out.read_bytes()

    def piece(query: str) -> bytes:
        return host.ask("GET", f"/artifacts/{run.id}/out?{query}", host.token).body

    assert piece("begin=3&end=9") == whole[3:9]
    assert piece("begin=-7") == whole[-7:]
    assert piece(f"begin=0&end={10**15}") == whole
    assert piece(f"begin={10**15}") == b""
    assert piece("begin=9&end=3") == b""
    for query in ("begin=x", "end=1.5", "begin=" + "9" * 40):
        assert host.ask("GET", f"/artifacts/{run.id}/out?{query}", host.token).status == 400
    assert host.ask("POST", f"/artifacts/{run.id}/out", host.token, {}).status == 405


@pytest.mark.parametrize("language", ["en", "ja"])
def test_of_a_host_that_is_gone_it_is_said_which_one_has_it(pair: Pair, language: str) -> None:
    run = pair.done(pair.home.script("far").say("I am done."))
    host, other = pair.host_of(run), pair.other_than(run)
    host.home.kill(host.home.processes[-1])
    execute(pair.home.board, "UPDATE hosts SET lease_until = 1 WHERE id = ?", run.host_id)
    for operation in ("run/output", "run/conversation", "run/errors"):
        status, code, told = refusal_of(other, operation, language, run=run.id)
        assert (status, code) == (503, "ArtifactAway")
        assert pair.name_of(host) in told
        assert "kumi up" in told
    # What the board knows by itself is told without it.
    assert answer_of(other, "run/proof", run=run.id)["run"] == run.id
    assert answer_of(other, "run/show", run=run.id)["lastAssistantMessage"] == "I am done."


def test_a_host_that_is_there_and_does_not_answer_is_told_with_its_address(pair: Pair) -> None:
    run = pair.done(pair.home.script("far"))
    host, other = pair.host_of(run), pair.other_than(run)
    host.home.kill(host.home.processes[-1])
    status, code, told = refusal_of(other, "run/output", run=run.id)
    assert (status, code) == (503, "ArtifactAway")
    assert "http://127.0.0.1:" in told
    assert "refused" in told


def test_nobody_asks_its_own_machine_for_the_files_of_another(pair: Pair) -> None:
    """A host that is reached on its own machine alone says which one that is."""
    run = pair.done(pair.home.script("far"))
    other = pair.other_than(run)
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0)
        elsewhere = f"http://127.0.0.1:{trap.getsockname()[1]}#another-machine"
        execute(pair.home.board, "UPDATE hosts SET url = ? WHERE id = ?", elsewhere, run.host_id)
        status, code, told = refusal_of(other, "run/output", run=run.id)
        assert (status, code) == (503, "ArtifactAway")
        assert "[host]" in told
        with pytest.raises(BlockingIOError):
            trap.accept()


def test_what_was_cleared_away_on_its_host_is_no_empty_answer(pair: Pair) -> None:
    run = pair.done(pair.home.script("far"))
    pair.host_of(run).home.run_folder(run).out.unlink()
    status, code, told = refusal_of(pair.other_than(run), "run/output", run=run.id)
    assert (status, code) == (503, "ArtifactAway")
    assert "cleared away" in told


def test_the_home_says_where_it_is_reached_as_its_owner_has_it(pair: Pair) -> None:
    door = pair.doors[1]
    config = door.home.place / "config.toml"
    config.write_text('host.url = "http://kumi.example:80"\n' + config.read_text())
    door.restart()

    def told() -> bool:
        return "http://kumi.example:80" in {view.host.url for view in pair.home.board.hosts.list()}

    until(told, "its address")
    # By that name it may be called, and by no other.
    assert door.ask("GET", "/metrics", door.token, host="kumi.example").status == 200
    assert door.ask("GET", "/metrics", door.token, host="other.example").status == 403


def test_doors_that_speak_tls_are_trusted_by_their_certificate_alone(
    board_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    secured = [f'server.certificate = "{certificate}"', f'server.key = "{key}"']
    homes = [Home(tmp_path / "one", database=board_url, settings=secured), Home(tmp_path / "two", database=board_url)]
    one, two = homes
    try:
        one.up()
        (run,) = one.run(one.script("far").say("I am done."))
        one.ended([run])
        move_away(one.board, run)
        with pytest.raises(ArtifactAway, match="certificate"):
            two.board.outputs.read(run.id, None, None)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        # Who has just failed is left alone for a moment: another process has not tried yet.
        fresh = open_board(two.settings)
        assert any("I am done." in line for line in fresh.outputs.read(run.id, None, None).lines)
        fresh.store.close()
    finally:
        for home in homes:
            home.close()
