"""Where the host process listens, and for whom."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from kumihimo.domain.errors import ConfigError
from kumihimo.services.hosting import find_running
from kumihimo.settings import Flags, ServerSection, load
from kumihimo.surfaces.cli.up import require_guarded


def up(home: Path, *words: str) -> subprocess.Popen[str]:
    environment = {"KUMI_HOME": str(home), "PATH": os.environ["PATH"], "KUMI_LANG": "en"}
    home.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "kumihimo", "up", "--port", "0", *words], env=environment, cwd=home, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_off_this_machine_it_listens_only_with_tls_or_when_told_so(tmp_path: Path) -> None:
    process = up(tmp_path / "home", "--host", "0.0.0.0")
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 3
    assert "--insecure" in said
    assert "--certificate" in said
    require_guarded("0.0.0.0", ServerSection(insecure=True))
    require_guarded("127.0.0.1", ServerSection())
    with pytest.raises(ConfigError, match=r"no file"):
        require_guarded("0.0.0.0", ServerSection(certificate=str(tmp_path / "none.pem")))


def test_a_repository_can_not_open_the_doors(tmp_path: Path) -> None:
    (tmp_path / "kumi.toml").write_text('[server]\nhosts = ["evil.example"]\n')
    with pytest.raises(ConfigError, match=r"config\.toml"):
        load(Flags(), {"KUMI_HOME": str(tmp_path / "home")}, tmp_path)


def certified(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


def test_a_certificate_in_this_folder_is_found_by_what_goes_on_without_us(tmp_path: Path) -> None:
    certified(tmp_path)
    environment = {"KUMI_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "KUMI_LANG": "en"}
    kumi = [sys.executable, "-m", "kumihimo"]
    told = subprocess.run(
        [*kumi, "up", "--detach", "--port", "0", "--certificate", "certificate.pem", "--key", "key.pem"],
        text=True, capture_output=True, env=environment, cwd=tmp_path, timeout=60, check=False,
    )  # fmt: skip
    try:
        assert "https://127.0.0.1:" in told.stdout, told.stderr
    finally:
        subprocess.run([*kumi, "down"], env=environment, cwd=tmp_path, timeout=60, check=False)


def test_with_a_certificate_everything_is_encrypted(tmp_path: Path) -> None:
    certificate, key = certified(tmp_path)
    process = up(tmp_path / "home", "--certificate", str(certificate), "--key", str(key))
    assert process.stdout is not None
    try:
        assert "https://127.0.0.1:" in process.stdout.readline()
        running = find_running(tmp_path / "home")
        assert running is not None
        context = ssl.create_default_context(cafile=str(certificate))
        with urllib.request.urlopen(f"{running.url}/healthz", context=context, timeout=30) as answer:
            assert answer.status == 200
        code = subprocess.run(
            [sys.executable, "-m", "kumihimo", "open", "--print"], check=True, text=True, capture_output=True,
            env={"KUMI_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "KUMI_LANG": "en"},
        ).stdout.split()[-1]  # fmt: skip
        with urllib.request.urlopen(code, context=context, timeout=30) as answer:
            assert "Secure" in answer.headers["set-cookie"]
    finally:
        process.terminate()
        process.communicate(timeout=30)
