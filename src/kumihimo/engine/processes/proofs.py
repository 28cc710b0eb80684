"""Where the proof of a run lies: one file in the run's folder, whole or not there, for the owner alone."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from kumihimo.domain.proof import Proof
from kumihimo.engine.artifacts.artifact import Name
from kumihimo.engine.processes.capture import strike_out

NAME: Name = "proof.json"
# None is longer: what a check has written is cut before it goes into one.
MOST_BYTES = 64 << 20


class ProofUnreadable(Exception):
    """There is a proof, and it can't be read; the text says why."""


def write_proof(folder: Path, proof: Proof, secrets: tuple[bytes, ...] = ()) -> Path:
    """In place of any earlier one. Secrets, and tokens of ours, are struck out of what was written freely."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def strike(text: str) -> str:
        return strike_out(text.encode("utf-8", "surrogatepass"), secrets).decode("utf-8", "replace")

    text = msgspec.json.format(msgspec.json.encode(proof.masked(strike), order="sorted"), indent=2) + b"\n"
    path = folder / NAME
    # Two that write at once each have their own, and the later one stands.
    draft = folder / f".{NAME}.{os.getpid()}.{id(proof):x}"
    try:
        _write(draft, text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    _settle(folder)
    return path


def read_proof(folder: Path) -> Proof | None:
    """None where none was made. ProofUnreadable where it is not one of ours."""
    try:
        content = (folder / NAME).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ProofUnreadable(str(error)) from error
    return decode_proof(content, folder / NAME)


def decode_proof(content: bytes, where: str | Path) -> Proof:
    """ProofUnreadable where it is not one of ours."""
    try:
        return msgspec.json.decode(content, type=Proof)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProofUnreadable(f"{where}: {error}") from error


def _write(path: Path, content: bytes) -> None:
    """A file that was not there, on the disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _settle(folder: Path) -> None:
    """A new name is on the disk only when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
