"""Where a host says that others reach it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kumihimo.engine.artifacts.address import machine, on_this_machine, reachable
from kumihimo.settings import Flags, load
from kumihimo.surfaces.host.process import Host

HERE = f"#{machine()}"


@pytest.mark.parametrize(
    ("config", "address", "told"),
    [
        ("", "127.0.0.1", f"http://127.0.0.1:9{HERE}"),
        ("", "::1", f"http://[::1]:9{HERE}"),
        ("", "0.0.0.0", f"http://127.0.0.1:9{HERE}"),
        ("", "10.0.0.2", "http://10.0.0.2:9"),
        ("", "fd00::2", "http://[fd00::2]:9"),
        ('server.hosts = ["kumi.example"]', "0.0.0.0", "http://kumi.example:9"),
        ('server.hosts = ["kumi.example"]', "127.0.0.1", f"http://127.0.0.1:9{HERE}"),
        ('server.certificate = "c.pem"', "10.0.0.2", "https://10.0.0.2:9"),
        ('host.url = "https://kumi.example"', "127.0.0.1", "https://kumi.example"),
    ],
)
def test_a_host_says_where_it_is_reached_or_that_it_is_on_its_machine_alone(
    tmp_path: Path, config: str, address: str, told: str
) -> None:
    (tmp_path / "config.toml").write_text(config)
    host = Host(load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path))
    assert host._told_where(address, 9).host.url == told


def test_an_address_on_a_machine_is_used_on_that_machine_alone() -> None:
    assert reachable(on_this_machine("http://127.0.0.1:1")) == "http://127.0.0.1:1"
    assert reachable("https://a.example:9696") == "https://a.example:9696"
    assert reachable("http://127.0.0.1:1#another") is None
