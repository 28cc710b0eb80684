"""Files of runs that are over are put where all hosts find them, whatever happens in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from kumihimo.app import open_board
from kumihimo.domain.artifact_place import ArtifactPlace
from kumihimo.domain.execution import Execution
from kumihimo.engine.artifacts.artifact import ArtifactTrouble, Depot, Name, Piece
from kumihimo.engine.artifacts.folder import SharedFolder
from kumihimo.services.depositing import Depositor
from kumihimo.services.verifying import Verification
from kumihimo.settings import Settings
from kumihimo.testing.databases import PostgresServer
from tests.artifacts.distance import answer_of, execute, move_away
from tests.artifacts.storage import BUCKET, KEYS, REGION, Storage
from tests.doors.house import Entrance
from tests.supervisor.home import Home
from tests.supervisor.patience import until

FILES = ("out", "err", "proof.json")


class Death(BaseException):
    """What a kill is to the code that it ends."""


class Failing:
    """A folder that is not there for some of its uses."""

    def __init__(self, folder: Path, error: BaseException, *uses: int) -> None:
        self._inner = SharedFolder(folder)
        self._error = error
        self._uses = uses
        self.count = 0

    def read(self, run: str, name: Name, begin: int, end: int) -> Piece | None:
        return self._inner.read(run, name, begin, end)

    def put(self, run: str, name: Name, file: Path, size: int) -> None:
        self.count += 1
        if self.count in self._uses:
            raise self._error
        self._inner.put(run, name, file, size)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path / "one")
    yield made
    made.close()


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    return folder


def settings_with(home: Home, shared: Path) -> Settings:
    return replace(home.settings, artifacts=ArtifactPlace(folder=str(shared)))


def ended(home: Home) -> Execution:
    """A run that ended before there was a place to put anything."""
    home.up()
    (run,) = home.run(home.script("done").say("I am done.").errors("it complained"))
    home.ended([run])
    until(lambda: (home.run_folder(run).path / "proof.json").exists(), "its proof")
    return home.show(run)


def depositor(home: Home, shared: Path, depot: Depot | None = None, said: list[str] | None = None) -> Depositor:
    """As one that a host has just started."""
    settings = settings_with(home, shared)
    found = Depositor(
        settings, open_board(settings), depot or SharedFolder(shared), (said if said is not None else []).append
    )
    found.recall()
    return found


def require_all(home: Home, shared: Path, run: Execution) -> None:
    folder = home.run_folder(run).path
    for name in FILES:
        assert (shared / run.id / name).read_bytes() == (folder / name).read_bytes(), name
    assert sorted(file.name for file in (shared / run.id).iterdir()) == sorted(FILES)
    assert list((home.place / "deposits").iterdir()) == []


def test_a_run_that_is_over_is_put_by_its_host(home: Home, shared: Path) -> None:
    config = home.place / "config.toml"
    config.write_text(f'artifacts.folder = "{shared}"\n' + config.read_text())
    home.up()
    (run,) = home.run(home.script("done").say("I am done."))
    home.ended([run])
    until(
        lambda: (shared / run.id / "proof.json").exists() and not list((home.place / "deposits").iterdir()), "all of it"
    )
    require_all(home, shared, run)


@pytest.mark.parametrize("use", [1, 2, 3])
def test_a_host_that_is_killed_while_it_puts_puts_the_rest_when_it_is_back(home: Home, shared: Path, use: int) -> None:
    run = ended(home)
    dying = Failing(shared, Death(), use)
    with pytest.raises(Death):
        depositor(home, shared, dying).look()
    again = Failing(shared, Death())
    depositor(home, shared, again).look()
    require_all(home, shared, run)
    assert again.count == len(FILES)
    # And then no more: who is started again has nothing to do.
    idle = Failing(shared, Death(), 1)
    depositor(home, shared, idle).look()
    assert idle.count == 0


def test_a_place_that_is_away_is_said_once_and_tried_until_it_is_back(home: Home, shared: Path) -> None:
    run, said = ended(home), list[str]()
    away = Failing(shared, ArtifactTrouble("nobody answered in time"), 1, 2, 3)
    putting = depositor(home, shared, away, said)
    for _ in range(3):
        putting.look()
    assert len(said) == 1
    assert "nobody answered in time" in said[0]
    putting.look()
    require_all(home, shared, run)


def test_a_proof_that_is_made_anew_is_put_anew(home: Home, shared: Path) -> None:
    run = ended(home)
    putting = depositor(home, shared)
    putting.look()
    before = (shared / run.id / "proof.json").read_bytes()
    Verification(home.board, settings_with(home, shared)).keep_proof(run.id)
    putting.look()
    require_all(home, shared, run)
    assert (shared / run.id / "proof.json").read_bytes() != before
    # Also where the host was killed before it could note that there is a newer one.
    Verification(home.board, home.settings).keep_proof(run.id)
    depositor(home, shared).look()
    require_all(home, shared, run)


def test_of_a_run_that_goes_on_nothing_is_put_and_never_what_was_not_looked_at(home: Home, shared: Path) -> None:
    gate = home.folder / "gate"
    home.up()
    (run,) = home.run(home.script("at work").say("harmless").wait(gate))
    home.until_status(run, "running")
    putting = depositor(home, shared)
    putting.look()
    assert list(shared.iterdir()) == []
    gate.touch()
    home.ended([run])
    until(lambda: (home.run_folder(run).path / "proof.json").exists(), "its proof")
    with home.run_folder(run).out.open("ab") as out:
        out.write(b"half a secret")
    depositor(home, shared).look()
    assert b"secret" not in (shared / run.id / "out").read_bytes()
    assert b"harmless" in (shared / run.id / "out").read_bytes()


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Lines of a config.toml."""
    if request.param == "folder":
        (tmp_path / "shared").mkdir()
        yield [f'artifacts.folder = "{tmp_path / "shared"}"']
        return
    storage = Storage(tmp_path / "storage")
    monkeypatch.setenv("THE_ACCESS_KEY", KEYS.access)
    monkeypatch.setenv("THE_SECRET_KEY", KEYS.secret)
    yield [
        f'artifacts.bucket = "s3://{BUCKET}/runs"', f'artifacts.endpoint = "{storage.endpoint}"',
        f'artifacts.region = "{REGION}"', 'artifacts.access_key = "${THE_ACCESS_KEY}"',
        'artifacts.secret_key = "${THE_SECRET_KEY}"',
    ]  # fmt: skip
    storage.stop()


def test_what_was_put_is_read_at_every_door_without_the_host_of_the_run(
    place: list[str], postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.new_database()
    homes = [Home(tmp_path / name, database=url, settings=place) for name in ("one", "two")]
    one, two = (Entrance(home) for home in homes)
    try:
        one.home.up()
        (run,) = one.home.run(one.home.script("done").say("I am done.").errors("it complained"))
        one.home.ended([run])
        marked = one.home.run_folder(run).path / "deposited"
        until(marked.exists, "the deposit")
        one.home.kill(one.home.processes[-1])
        two.home.up()
        execute(two.home.board, "UPDATE hosts SET lease_until = 1 WHERE id = ?", one.host_id)
        move_away(two.home.board, run)
        assert any("I am done." in line for line in answer_of(two, "run/output", run=run.id)["lines"])
        assert "it complained" in answer_of(two, "run/errors", run=run.id)["text"]
        proof = (one.home.run_folder(run).path / "proof.json").read_text()
        assert answer_of(two, "run/proof", run=run.id)["madeAt"][:23] in proof
    finally:
        for home in homes:
            home.close()
        postgres.drop(url)
