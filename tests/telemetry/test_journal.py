"""The journal of the host process: a line for people or an object for programs, and no secret in either."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
import traceback
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kumihimo.domain.errors import ConfigError
from kumihimo.settings import Flags, LogSection, load
from kumihimo.surfaces.host.journal import Journal
from tests.supervisor.home import Home
from tests.supervisor.patience import until

TOKEN = "kexe_" + "a" * 32
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def journal(stream: io.StringIO, form: str = "json", level: str = "info", **more: object) -> Journal:
    return Journal(LogSection(form, level), stream, clock=lambda: NOON, **more)  # type: ignore[arg-type]


def objects(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_as_json_a_line_is_an_object_with_time_level_event_and_fields() -> None:
    stream = io.StringIO()
    journal(stream).note("warning", "notice.given_up", "it did\nnot arrive", notice="ntc_1", tries=3)
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line) == {
        "time": "2026-01-01T12:00:00Z",
        "level": "warning",
        "event": "notice.given_up",
        "text": "it did\nnot arrive",
        "notice": "ntc_1",
        "tries": 3,
    }


def test_as_text_a_line_is_the_sentence_with_its_fields() -> None:
    stream = io.StringIO()
    told = journal(stream, "text")
    told.say("a sentence")
    told.note("info", "notice.told", "Task is done", channel="webhook", nothing=None)
    told.note("info", "event.alone")
    assert stream.getvalue() == "a sentence\nTask is done (channel=webhook)\nevent.alone\n"


def test_what_weighs_less_than_asked_for_is_not_written() -> None:
    stream = io.StringIO()
    told = journal(stream, level="warning")
    for level in ("debug", "info", "warning", "error"):
        told.note(level, level)  # type: ignore[arg-type]
    assert [line["event"] for line in objects(stream)] == ["warning", "error"]


@pytest.mark.parametrize("form", ["json", "text"])
def test_tokens_and_secrets_of_the_environment_are_struck_out(form: str) -> None:
    stream = io.StringIO()
    told = journal(stream, form, secrets=(b'hunt"er2',))
    told.note("error", "broken", f'{TOKEN} and hunt"er2', detail=f'{TOKEN} hunt"er2')
    assert TOKEN not in stream.getvalue()
    assert "er2" not in stream.getvalue()


def test_as_json_everything_else_in_the_process_is_heard_as_well() -> None:
    stream = io.StringIO()
    told = journal(stream)
    with told.hears_everything():
        print("to standard output")
        sys.stderr.write(f"half {TOKEN} ")
        sys.stderr.write("a line\n\n")
        try:
            raise ValueError("a mistake")
        except ValueError:
            traceback.print_exc()
    lines = objects(stream)
    assert (lines[0]["level"], lines[0]["text"]) == ("info", "to standard output")
    assert (lines[1]["level"], lines[1]["text"]) == ("warning", f"half {'*' * len(TOKEN)} a line")
    assert lines[-1]["text"] == "ValueError: a mistake"


def test_lines_of_two_threads_do_not_get_into_each_other() -> None:
    stream = io.StringIO()
    half = threading.Event()

    def other() -> None:
        half.wait(30)
        sys.stderr.write("theirs\n")

    with journal(stream).hears_everything():
        thread = threading.Thread(target=other)
        thread.start()
        sys.stderr.write("ou")
        half.set()
        thread.join()
        sys.stderr.write("rs\n")
    assert [line["text"] for line in objects(stream)] == ["theirs", "ours"]


def test_as_text_nothing_is_taken_from_anybody(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    with journal(stream, "text").hears_everything():
        print("mine")
    assert (stream.getvalue(), capsys.readouterr().out) == ("", "mine\n")


def test_the_level_is_by_flag_before_variable_before_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[log]\nformat = "json"\nlevel = "error"\n')
    home = {"KUMI_HOME": str(tmp_path)}
    assert load(Flags(), home, tmp_path).log == LogSection("json", "error")
    assert load(Flags(), {**home, "KUMI_LOG": "warning"}, tmp_path).log.level == "warning"
    assert load(Flags(verbose=True), {**home, "KUMI_LOG": "warning"}, tmp_path).log.level == "debug"
    with pytest.raises(ConfigError, match="loud"):
        load(Flags(), {**home, "KUMI_LOG": "loud"}, tmp_path)


@pytest.mark.slow
def test_every_line_of_a_host_is_an_object_where_json_was_asked_for(tmp_path: Path) -> None:
    lines = ("[log]", 'format = "json"', "[notifications.command]", 'argv = ["no-such-program-anywhere"]')
    home = Home(tmp_path, settings=lines)
    try:
        host = home.up()
        until(lambda: "is up" in home.said)
        os.kill(host.pid, signal.SIGTERM)
        assert host.wait(30) == 0
        told = [json.loads(line) for line in home.said.splitlines()]
        assert "notice.channel_off" in [line["event"] for line in told]
        assert any(line["event"] == "said" and "is up" in line["text"] for line in told)
        assert all({"time", "level", "event", "text"} <= set(line) for line in told)
    finally:
        home.close()
