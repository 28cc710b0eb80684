"""Following the log: everything is told once, also over restarts, and nobody is held up by anybody else."""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kumihimo.app import open_board
from kumihimo.domain.event import Event
from kumihimo.domain.task import Task
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.settings import Flags, Settings, load
from kumihimo.surfaces.host.follower import Follower
from kumihimo.surfaces.host.journal import Journal
from kumihimo.surfaces.host.notifier import notifiers
from tests.lead.shop import until
from tests.notices.receiver import Receiver

APPENDS = "import os, sys; open(sys.argv[1], 'a').write(os.environ['KUMI_NOTICE_TITLE'] + '\\n')"


class House:
    """A home on one database, with its notifiers on and off as a test wants."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self._environ = {"KUMI_HOME": str(self.home), "KUMI_DB": database, "HOME": str(folder), "LANG": "C"}
        self.said = io.StringIO()
        self.running: list[Follower] = []
        self.configure()
        self.board: Board = open_board(self.settings)
        project = self.board.projects.add("shop", str(folder / "shop"))
        # Nobody logs in here, and to hash a passkey takes longer than all the rest.
        with mock.patch("kumihimo.services.passkeys.hash_of", return_value="none"):
            self.board.agents.add("coder", client="codex")
        self.board.projects.assign(project.id, self.board.agents.show("coder"))
        self.place = Place(project.id)

    def configure(self, *lines: str) -> None:
        (self.home / "config.toml").write_text("\n".join(lines) + "\n")

    @property
    def settings(self) -> Settings:
        return load(Flags(verbose=True), self._environ, self.folder)

    def on(self, waits: tuple[float, ...] = (0.0, 0.0)) -> None:
        """The notifiers, once each of them knows where the log is now."""
        self.running = notifiers(self.settings, "http://here", Journal(self.settings.log, self.said), waits)
        for follower in self.running:
            follower.start()
            until(follower._bookmark._file.exists)

    def off(self) -> None:
        for follower in self.running:
            follower.end()
        for follower in self.running:
            follower.close()
            assert not follower._thread.is_alive()
        self.running = []

    def block(self, title: str) -> Task:
        task = self.board.tasks.create(self.place, NewTask(title, assignee="coder")).task
        for status in ("in_progress", "blocked"):
            self.board.tasks.update(self.place, task.id, status=status)
        return task

    def settle(self, task: Task) -> None:
        """Wait until everything up to now was noted as read."""
        newest = self.board.store.newest_cursor()
        marks = [follower._bookmark for follower in self.running]
        until(lambda: all(int(mark.read() or 0) >= int(newest) for mark in marks))


@pytest.fixture
def house(tmp_path: Path, database: str) -> Iterator[House]:
    made = House(tmp_path, database)
    yield made
    made.off()
    made.board.store.close()


@pytest.fixture
def receive() -> Iterator[Callable[..., Receiver]]:
    opened: list[Receiver] = []

    def make(*answers: int, **how: Any) -> Receiver:
        opened.append(Receiver(answers, **how))
        return opened[-1]

    yield make
    for receiver in opened:
        receiver.close()


def webhook(receiver: Receiver, *lines: str) -> tuple[str, ...]:
    return ("[notifications.webhook]", f'url = "{receiver.url}"', *lines)


def test_what_happens_is_told_once_and_what_happened_before_is_not(
    house: House, receive: Callable[..., Receiver]
) -> None:
    receiver = receive()
    house.configure(*webhook(receiver))
    house.block("before")
    house.on()
    task = house.block("now")
    post = receiver.next()
    assert (post.json["subject"], post.json["url"]) == (task.id, f"http://here/#/board/{task.id}")
    house.settle(task)
    assert receiver.rest() == []


def test_after_a_restart_the_rest_is_told_and_nothing_again(house: House, receive: Callable[..., Receiver]) -> None:
    receiver = receive()
    house.configure(*webhook(receiver))
    house.on()
    house.block("one")
    assert "one" in receiver.next().json["title"]
    house.off()
    away = [house.block(title) for title in ("two", "three")]
    house.on()
    assert [receiver.next().json["subject"] for _ in away] == [task.id for task in away]
    house.settle(away[-1])
    assert receiver.rest() == []


def test_a_receiver_that_has_trouble_is_tried_again_with_the_same_id(
    house: House, receive: Callable[..., Receiver]
) -> None:
    receiver = receive(500, 503)
    house.configure(*webhook(receiver))
    house.on()
    house.block("one")
    assert len({receiver.next().json["id"] for _ in range(3)}) == 1
    house.block("two")
    assert "two" in receiver.next().json["title"]


def test_after_some_tries_a_notice_is_given_up_and_the_next_has_its_turn(
    house: House, receive: Callable[..., Receiver]
) -> None:
    receiver = receive(500, 500, 500, 403)
    house.configure(*webhook(receiver))
    house.on(waits=(0.0, 0.0))
    for title in ("one", "two", "three"):
        house.block(title)
    titles = [receiver.next().json["title"].rpartition(" ")[2] for _ in range(5)]
    assert titles == ["one", "one", "one", "two", "three"]
    until(lambda: house.said.getvalue().count("127.0.0.1 answered") >= 4)
    assert "hush" not in house.said.getvalue()


def test_a_receiver_that_does_not_answer_holds_up_nobody_and_is_told_later(
    house: House, receive: Callable[..., Receiver], tmp_path: Path
) -> None:
    receiver, heard = receive(hold=True), tmp_path / "heard"
    script = tmp_path / "hook.py"
    script.write_text(APPENDS)
    words = ", ".join(f'"{word}"' for word in (sys.executable, script, heard))
    house.configure(*webhook(receiver), "[notifications.command]", f"argv = [{words}]")
    house.on()
    for title in ("one", "two"):
        house.block(title)
    until(lambda: heard.exists() and heard.read_text().count("\n") == 2)
    assert "one" in receiver.next().json["title"]
    assert receiver.rest() == []
    receiver.released.set()
    assert "two" in receiver.next().json["title"]


def test_a_channel_hears_only_of_the_kinds_it_wants(house: House, receive: Callable[..., Receiver]) -> None:
    receiver = receive()
    house.configure(*webhook(receiver, 'kinds = ["done"]'))
    house.on()
    task = house.block("blocked, which it does not want to know")
    for status in ("in_progress", "done"):
        house.board.tasks.update(house.place, task.id, status=status)
    assert receiver.next().json["kind"] == "done"
    house.settle(task)
    assert receiver.rest() == []


def test_what_happened_while_it_was_switched_off_is_not_told_when_it_is_switched_on_again(
    house: House, receive: Callable[..., Receiver]
) -> None:
    receiver = receive()
    house.configure(*webhook(receiver))
    house.on()
    house.off()
    house.configure()
    house.on()
    house.block("nobody asked")
    house.configure(*webhook(receiver))
    house.on()
    task = house.block("asked")
    assert receiver.next().json["subject"] == task.id


def test_a_channel_that_cannot_work_is_complained_about_and_the_others_work(
    house: House, receive: Callable[..., Receiver]
) -> None:
    receiver = receive()
    house.configure(*webhook(receiver), "[notifications.command]", 'argv = ["no-such-program-anywhere"]')
    house.on()
    assert "notifications by command are off" in house.said.getvalue()
    task = house.block("one")
    assert receiver.next().json["subject"] == task.id


def test_another_database_is_not_read_from_the_place_of_the_last_one(
    house: House, receive: Callable[..., Receiver]
) -> None:
    receiver = receive()
    house.configure(*webhook(receiver))
    file = house.home / "followers" / "notices-webhook.json"
    file.parent.mkdir()
    file.write_text('{"board": "another", "cursor": "1"}')
    house.block("before")
    house.on()
    until(lambda: b'"another"' not in file.read_bytes())
    task = house.block("now")
    assert receiver.next().json["subject"] == task.id


def test_a_cursor_of_the_future_begins_anew_and_says_so(house: House, receive: Callable[..., Receiver]) -> None:
    receiver = receive()
    house.configure(*webhook(receiver))
    house.on()
    house.off()
    file = house.home / "followers" / "notices-webhook.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "cursor": "999999"}))
    house.on()
    until(lambda: "begins anew" in house.said.getvalue())
    until(lambda: "999999" not in file.read_text())
    task = house.block("now")
    assert receiver.next().json["subject"] == task.id


def test_where_nothing_can_be_noted_everything_is_told_once_all_the_same(
    house: House, receive: Callable[..., Receiver]
) -> None:
    receiver = receive()
    house.configure(*webhook(receiver))
    (house.home / "followers").write_text("in the way")
    for follower in notifiers(house.settings, None, Journal(house.settings.log, house.said), ()):
        house.running.append(follower)
        follower.start()
    until(lambda: "can't be noted" in house.said.getvalue())
    tasks = [house.block(title) for title in ("one", "two")]
    assert [receiver.next().json["subject"] for _ in tasks] == [task.id for task in tasks]
    house.off()
    assert receiver.rest() == []
    assert house.said.getvalue().count("can't be noted") == 1


def test_an_event_that_cannot_be_read_is_complained_about_and_passed_over(
    house: House, receive: Callable[..., Receiver]
) -> None:
    receiver = receive()
    house.configure(*webhook(receiver))
    house.on()
    house.board.store.write(
        lambda transaction: transaction.events._connection.execute(
            "INSERT INTO events (kind, subject, project_id, actor, at, data) VALUES ('task.moved', 'tsk_x', NULL, 'w', 0, '{}')"
        )
    )
    task = house.block("one")
    assert receiver.next().json["subject"] == task.id
    assert "kind=task.moved" in house.said.getvalue()


def test_a_notice_that_is_still_being_tried_when_we_end_is_told_after_the_restart(
    house: House, receive: Callable[..., Receiver]
) -> None:
    receiver = receive(500)
    house.configure(*webhook(receiver))
    house.on(waits=(600.0,))
    house.block("one")
    tried = receiver.next()
    until(lambda: "answered 500" in house.said.getvalue())
    house.off()
    house.on()
    assert receiver.next().json["id"] == tried.json["id"]


class Looking:
    """A reader that looks, when it is first asked to settle, whether its place in the log was noted already."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.noted: list[bool] = []

    def open(self, board: Board) -> None:
        pass

    def read(self, event: Event, over: threading.Event) -> bool:
        return False

    def flush(self) -> bool:
        self.noted.append(self._file.exists())
        return True

    def close(self) -> None:
        pass


def test_where_it_begins_is_noted_before_anything_is_read(house: House) -> None:
    reader = Looking(house.home / "followers" / "looking.json")
    follower = Follower(house.settings, "looking", lambda: reader, Journal(house.settings.log, house.said))
    house.running.append(follower)
    follower.start()
    until(lambda: reader.noted)
    assert reader.noted[0]
