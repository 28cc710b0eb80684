"""Each real CLI through the whole product: a lead asks over MCP, the supervisor starts it, and it reports over our own HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import yaml

from kumihimo.domain.hub_call import KIND, HubCall
from tests.hub.hub_kit import Scripted
from tests.lead.shop import until
from tests.real.clis import CLIS, Cli
from tests.real.model import Model
from tests.real.product import Product

pytestmark = pytest.mark.real

SILENCE_MS = 8_000


@pytest.fixture(scope="module", params=CLIS, ids=lambda cli: cli.name)
def client(request: pytest.FixtureRequest) -> Cli:
    found: Cli = request.param
    found.installed()
    return found


@pytest.fixture(scope="module")
def product(client: Cli, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    with Model() as model:
        made = Product(client, model, tmp_path_factory.mktemp(client.name))
        yield made
        made.close()


@pytest.fixture
def impatient(client: Cli, tmp_path: Path) -> Iterator[Product]:
    """One that ends an agent which says nothing for some seconds."""
    with Model() as model:
        made = Product(client, model, tmp_path, silence_timeout_ms=SILENCE_MS)
        yield made
        made.close()


@pytest.fixture
def fresh(client: Cli, tmp_path: Path) -> Iterator[Product]:
    """One that has seen no other configuration."""
    with Model() as model:
        made = Product(client, model, tmp_path)
        yield made
        made.close()


def test_an_agent_says_hello_and_is_followed_to_its_end(product: Product) -> None:
    state = product.run("Say hello. [[scenario:hello]]")

    assert (state["status"], state["exitCode"], state["failureReason"]) == ("completed", 0, None)
    assert state["lastAssistantMessage"] == "Hello from the scripted model."
    assert state["usage"]["inputTokens"] > 0
    assert state["usage"]["outputTokens"] > 0
    assert product.conversation(state["agentId"])
    assert product.model.strangers == []


def test_the_files_that_an_agent_makes_and_edits_are_seen(product: Product) -> None:
    (product.folder / "existing.txt").write_text("old line\n")

    state = product.run("Edit. [[scenario:edit]]")

    assert (product.folder / "new.txt").read_text() == "a new file\n"
    assert (product.folder / "existing.txt").read_text() == "new line\n"
    made, edited = (
        [(product.folder / path).resolve() for path in state[key]] for key in ("createdFiles", "editedFiles")
    )
    assert made == [(product.folder / "new.txt").resolve()]
    assert edited == [(product.folder / "existing.txt").resolve()]
    assert state["toolCallCount"] >= 2


def test_an_agent_reports_over_our_own_mcp_and_ends_after_it(product: Product) -> None:
    state = product.run("Report. [[scenario:report]]")

    assert state["status"] == "resultReported"
    result = state["result"]
    assert (result["status"], result["summary"]) == ("success", "Reported by the scripted model.")
    assert (result["agentId"], result["groupId"], result["role"]) == (state["agentId"], state["groupId"], "worker")
    until(lambda: product.lead.status(state["agentId"])["endedAt"])
    ended = product.lead.status(state["agentId"])
    assert (ended["status"], ended["exitCode"], ended["failureReason"]) == ("resultReported", 0, None)


@pytest.mark.parametrize("exposed", [False, True], ids=["by hub_call", "as it is shown"])
def test_an_agent_calls_a_server_behind_the_hub_of_its_project(fresh: Product, tmp_path: Path, exposed: bool) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo", "description": "Says it again."})
    (fresh.folder / "mcp.config.yaml").write_text(yaml.safe_dump({"servers": [alpha.config]}))
    if exposed:
        with (fresh.folder / "kumi.toml").open("a") as settings:
            settings.write('\n[hub]\nexpose = "all"\n')

    state = fresh.run(f"Call it. [[scenario:{'exposed' if exposed else 'hub'}]]")

    assert (state["status"], state["lastAssistantMessage"]) == ("completed", "It said KUMQUAT.")
    assert alpha.calls("echo") == 1

    def kept() -> list[str | None]:
        events = fresh.board.store.events_after(None, 100_000)
        return [msgspec.json.decode(event.data, type=HubCall).execution_id for event in events if event.kind == KIND]

    until(lambda: state["agentId"] in kept())


def test_a_conversation_is_continued(product: Product) -> None:
    first = product.run("Keep in mind: the word is KUMQUAT. [[scenario:resume]]")
    second = product.go_on(first["agentId"], "Which word was it? [[scenario:resume]]")

    assert first["lastAssistantMessage"] == "I will remember it."
    assert second["lastAssistantMessage"] == "I remember KUMQUAT."
    assert second["continues"] == first["agentId"]
    assert product.conversation(second["agentId"]) == product.conversation(first["agentId"])


def test_an_agent_is_cancelled_in_the_middle_of_a_command(product: Product) -> None:
    run = product.begin("[[scenario:long_shell]]")
    until(lambda: product.lead.status(run)["recentToolCalls"])
    until(lambda: len(product.processes(run)) > 1)

    answer = product.lead.call("cancel_agent", agentId=run).data

    assert answer == {"cancelled": True, "agentId": run, "survivors": []}
    assert product.processes(run) == []
    assert product.lead.status(run)["status"] == "cancelled"


def test_an_agent_outlives_the_host_that_started_it(product: Product) -> None:
    run = product.begin("[[scenario:gated]]")
    until(lambda: product.model.asked("gated"))
    product.kill_host()
    product.model.gate("gate").set()

    state = product.end(run)

    assert (state["status"], state["exitCode"]) == ("completed", 0)
    assert state["lastAssistantMessage"] == "The gate is open."
    assert len(product.model.asked("gated")) == 1


def test_a_key_that_is_refused_is_told_as_such(product: Product) -> None:
    state = product.run("[[scenario:auth]]")

    assert (state["status"], state["failureReason"]) == ("failed", "auth")
    assert state["exitCode"]


def test_a_rate_limit_is_told_as_one_and_holds_nobody_back_where_its_end_is_not_told(product: Product) -> None:
    state = product.run("[[scenario:rate_limit]]")

    assert (state["status"], state["failureReason"]) == ("failed", "rate_limited")
    # The model says when to come again in a header, of which no CLI tells us.
    assert product.stated_reset(state["agentId"]) is None
    assert product.board.hosts.parked() == {}


def test_a_model_that_never_answers_is_not_waited_for_longer_than_silence_may_last(impatient: Product) -> None:
    state = impatient.run("[[scenario:hang]]")

    assert (state["status"], state["failureReason"]) == ("timedOut", "idle")
    assert impatient.model.asked("hang")
    assert impatient.processes(state["agentId"]) == []
