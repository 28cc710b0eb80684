"""The webhook: what the receiver gets, how it can tell who sent it, and what becomes of answers that are none."""

from __future__ import annotations

import hashlib
import hmac
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from kumihimo.domain.notice import Notice
from kumihimo.domain.notice_channel import KINDS
from kumihimo.engine.notifying.channel import Undelivered
from kumihimo.engine.notifying.webhook import WebhookChannel
from tests.notices.receiver import Receiver

NOTICE = Notice(
    "ntc_1",
    "needs_you",
    "Task #1 is blocked: 靴",
    "No key",
    "tsk_1",
    "shop",
    datetime(2026, 1, 1, tzinfo=UTC),
    "http://x/#/1",
)
Open = Callable[..., Receiver]


@pytest.fixture
def receive() -> Iterator[Open]:
    opened: list[Receiver] = []

    def make(*answers: int, hold: bool = False) -> Receiver:
        opened.append(Receiver(answers, hold=hold))
        return opened[-1]

    yield make
    for receiver in opened:
        receiver.close()


def test_the_receiver_gets_the_notice_and_can_check_who_sent_it(receive: Open) -> None:
    receiver = receive()
    WebhookChannel(receiver.url, "s3cret", KINDS, 10.0, lambda: 1_700_000_000.9).tell(NOTICE)
    post = receiver.next()
    assert post.json == {
        "id": "ntc_1",
        "kind": "needs_you",
        "title": "Task #1 is blocked: 靴",
        "text": "No key",
        "subject": "tsk_1",
        "project": "shop",
        "at": "2026-01-01T00:00:00Z",
        "url": "http://x/#/1",
    }
    assert post.path == "/hook?token=hush"
    assert post.headers["content-type"] == "application/json"
    assert post.headers["x-kumihimo-id"] == "ntc_1"
    assert post.headers["x-kumihimo-timestamp"] == "1700000000"
    expected = hmac.new(b"s3cret", b"1700000000." + post.body, hashlib.sha256).hexdigest()
    assert post.headers["x-kumihimo-signature"] == f"sha256={expected}"


def test_without_a_secret_nothing_is_signed_and_a_login_in_the_address_is_a_login(receive: Open) -> None:
    receiver = receive()
    WebhookChannel(receiver.url.replace("//", "//mi%40ka:pa%20ss@"), None, KINDS, 10.0).tell(NOTICE)
    headers = receiver.next().headers
    assert not any(name.startswith("x-kumihimo-sig") for name in headers)
    assert headers["authorization"] == "Basic bWlAa2E6cGEgc3M="
    assert headers["host"] == f"127.0.0.1:{receiver.port}"


@pytest.mark.parametrize(
    ("status", "again"), [(500, True), (503, True), (429, True), (408, True), (400, False), (410, False)]
)
def test_an_answer_that_is_no_success_says_whether_another_try_may_help(
    receive: Open, status: int, again: bool
) -> None:
    with pytest.raises(Undelivered, match=f"127.0.0.1 answered {status}") as refused:
        WebhookChannel(receive(status).url, None, KINDS, 10.0).tell(NOTICE)
    assert refused.value.again is again


def test_a_redirection_is_not_followed(receive: Open) -> None:
    receiver = receive(307)
    with pytest.raises(Undelivered) as refused:
        WebhookChannel(receiver.url, "s", KINDS, 10.0).tell(NOTICE)
    assert not refused.value.again
    assert receiver.next().path == "/hook?token=hush"
    assert receiver.rest() == []


def test_a_receiver_that_is_not_there_or_silent_may_be_tried_again_and_its_secret_stays_unsaid(receive: Open) -> None:
    silent = receive(hold=True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}/hook?token=hush"
        for url, seconds in ((silent.url, 0.2), (nobody, 10.0)):
            with pytest.raises(Undelivered) as refused:
                WebhookChannel(url, "s3cret", KINDS, seconds).tell(NOTICE)
            assert refused.value.again
            assert not any(word in str(refused.value) for word in ("hush", "hook", "s3cret"))


def test_a_receiver_that_answers_a_letter_at_a_time_is_left(receive: Open) -> None:
    over = threading.Event()

    patient: list[bool] = []

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            try:
                for _ in range(1_000):
                    if over.wait(0.02):
                        return
                    connection.sendall(b"H")
            except OSError:
                return
        patient.append(True)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        dripping = threading.Thread(target=drip, args=(listener,))
        dripping.start()
        try:
            with pytest.raises(Undelivered):
                WebhookChannel(f"http://127.0.0.1:{listener.getsockname()[1]}/", None, KINDS, 0.3).tell(NOTICE)
        finally:
            over.set()
            dripping.join()
    assert not patient, "nobody waits for a thousand letters"


def test_letters_of_any_language_may_be_in_an_address(receive: Open) -> None:
    receiver = receive()
    WebhookChannel(receiver.url.replace("/hook", "/靴 屋"), None, KINDS, 10.0).tell(NOTICE)
    assert receiver.next().path == "/%E9%9D%B4%20%E5%B1%8B?token=hush"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "example.com/hook",
        "http://",
        "file:///etc/passwd",
        "http://a:hush/",
        "http://[",
        "http://a..b/",
    ],
)
def test_what_is_no_address_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(ValueError, match="it is no http:// or https:// address"):
        WebhookChannel(url, None, KINDS, 1.0)
