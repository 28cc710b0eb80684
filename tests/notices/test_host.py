"""`kumi up` tells: also what happened while it was killed, and again what may not have arrived."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from tests.notices.receiver import Receiver
from tests.supervisor.home import Home
from tests.supervisor.patience import until


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver(hold=True)
    yield made
    made.close()


@pytest.fixture
def home(tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setenv("HOOK_SECRET", "s3cret-s3cret")
    lines = ("[notifications.webhook]", f'url = "{receiver.url}"', 'secret = "${HOOK_SECRET}"')
    made = Home(tmp_path, settings=lines)
    made.board.projects.assign(made.project.id, made.board.agents.show("codex"))
    yield made
    made.close()


def block(home: Home, title: str) -> str:
    place = Place(home.project.id)
    task = home.board.tasks.create(place, NewTask(title, assignee="codex")).task
    for status in ("in_progress", "blocked"):
        home.board.tasks.update(place, task.id, status=status)  # type: ignore[arg-type]
    return task.id


@pytest.mark.slow
def test_a_host_that_was_killed_tells_again_what_may_not_have_arrived_and_then_the_rest(
    home: Home, receiver: Receiver
) -> None:
    mark = home.place / "followers" / "notices-webhook.json"
    host = home.up()
    until(mark.exists)
    first = block(home, "one")
    unanswered = receiver.next()
    assert unanswered.json["subject"] == first
    home.kill(host)
    second = block(home, "two")
    receiver.released.set()
    host = home.up()
    again, rest = receiver.next(), receiver.next()
    assert again.json == {**unanswered.json, "url": again.json["url"]}, "the same id tells that it is the same"
    assert rest.json["subject"] == second
    assert "x-kumihimo-signature" in rest.headers
    # Once it is noted as told, a kill repeats nothing.
    newest = home.board.store.newest_cursor()
    until(lambda: int(mark.read_text().split('"cursor":"')[1].split('"')[0]) >= int(newest))
    home.kill(host)
    third = block(home, "three")
    home.up()
    assert receiver.next().json["subject"] == third
    assert "hush" not in home.said
    assert "s3cret" not in home.said


@pytest.mark.slow
def test_a_host_ends_although_a_receiver_does_not_answer(home: Home, receiver: Receiver) -> None:
    host = home.up()
    until((home.place / "followers" / "notices-webhook.json").exists)
    block(home, "one")
    receiver.next()
    os.kill(host.pid, signal.SIGTERM)
    assert host.wait(30) == 0
