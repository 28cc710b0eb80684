"""The file of a proof."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from kumihimo.domain.execution import Report
from kumihimo.domain.observation import Usage
from kumihimo.domain.proof import CheckResult, Commit, DiffStat, PathChange, Proof
from kumihimo.engine.processes.proofs import NAME, ProofUnreadable, read_proof, write_proof

AT = datetime(2026, 11, 16, 8, 30, tzinfo=UTC)
PROOF = Proof(
    run="exec_1",
    task="tsk_1",
    agent="agt_1",
    client="codex",
    model="gpt",
    prompt_sha256="0" * 64,
    base="a" * 40,
    head="b" * 40,
    commits=(Commit("b" * 40, "Add the basket 籠"),),
    diffstat=DiffStat.of((PathChange("src/籠.py", "added", 10, 0), PathChange("old.py", "deleted", 0, 3))),
    scope_violations=("old.py",),
    checks=(CheckResult("make test", "failed", 2, None, 1200, "1 failed\n", AT),),
    exit_code=0,
    status="completed",
    usage=Usage(10, 20, 0.5),
    report=Report("success", "did it", AT, ("src/籠.py",)),
    started_at=AT,
    ended_at=AT,
    made_at=AT,
    version="0.1.0",
)


def test_a_proof_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = write_proof(tmp_path / "run", PROOF)
    assert read_proof(tmp_path / "run") == PROOF
    assert path == tmp_path / "run" / NAME
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    assert [entry.name for entry in path.parent.iterdir()] == [NAME], "no draft is left"


def test_it_can_be_read_by_a_person(tmp_path: Path) -> None:
    text = write_proof(tmp_path, PROOF).read_text("utf-8")
    told = json.loads(text)
    assert text == json.dumps(told, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert told["diffstat"]["files"] == 2
    assert (told["diffstat"]["insertions"], told["diffstat"]["deletions"]) == (10, 3)
    assert "籠" in text


def test_a_later_one_takes_its_place_and_one_that_can_not_be_written_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_proof(tmp_path, PROOF)
    later = replace(PROOF, status="failed", failure_reason="exited", exit_code=1)
    write_proof(tmp_path, later)
    assert read_proof(tmp_path) == later

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_proof(tmp_path, PROOF)
    assert read_proof(tmp_path) == later
    assert [entry.name for entry in tmp_path.iterdir()] == [NAME]


def test_where_none_was_made_there_is_none(tmp_path: Path) -> None:
    assert read_proof(tmp_path) is None
    assert read_proof(tmp_path / "gone") is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"run": 1}', b"\xff\xfe", b'{"run": "exec_1"}'])
def test_what_is_no_proof_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(ProofUnreadable, match=NAME):
        read_proof(tmp_path)


def test_one_of_a_later_version_that_knows_more_can_be_read(tmp_path: Path) -> None:
    path = write_proof(tmp_path, PROOF)
    path.write_text(json.dumps({**json.loads(path.read_text()), "weather": "fine", "version": "9.0"}))
    assert read_proof(tmp_path) == replace(PROOF, version="9.0")


def test_secrets_are_struck_out_wherever_somebody_wrote_freely(tmp_path: Path) -> None:
    secret, ours = 'say "horse"\\n', "kexe_" + "a" * 32
    told = f"it is {secret} and {ours}"
    proof = replace(
        PROOF,
        commits=(Commit("b" * 40, told),),
        checks=(CheckResult(f"echo {secret}", "failed", 1, output=told),),
        report=Report("failure", told, AT, (told,), (told,), told, told),
    )
    text = write_proof(tmp_path, proof, (secret.encode(), b"completed")).read_text()
    assert "horse" not in text
    assert "kexe_" not in text
    found = read_proof(tmp_path)
    assert found is not None
    assert found.status == "completed", "a word of ours stays, whatever somebody's password is"
    assert found.checks[0].command == "echo " + "*" * len(secret)


def test_a_link_in_the_place_of_the_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "run" / NAME).symlink_to(tmp_path / "precious")
    write_proof(tmp_path / "run", PROOF)
    assert (tmp_path / "precious").read_text() == "precious"
    assert read_proof(tmp_path / "run") == PROOF
