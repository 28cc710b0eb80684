"""A network on this machine: every host is a network namespace, with a cable to a bridge that can be pulled."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path

# For measurements of networks among themselves: nobody is reached by these addresses.
_NETWORK = "198.18.{}"
_OURS = re.compile(r"\bkumi(\d+)(?:h\d+)?\b")


class NotAllowed(Exception):
    """Why there can be no network here."""


class Network:
    """Called by the id of this process, so that what a killed one has left behind is known as such."""

    def __init__(self) -> None:
        self._name = f"kumi{os.getpid()}"
        self._addresses = _NETWORK.format(os.getpid() % 250 + 1)
        self.address = f"{self._addresses}.1"
        self.range = f"{self._addresses}.0/24"
        self.hosts: list[Namespace] = []

    def open(self) -> None:
        """NotAllowed, with nothing left behind, where it can't be had."""
        try:
            sweep()
            _ip("link", "add", self._name, "type", "bridge")
            _ip("address", "add", f"{self.address}/24", "dev", self._name)
            _ip("link", "set", self._name, "up")
            self._try()
        except (OSError, subprocess.CalledProcessError) as error:
            self.close()
            said = getattr(error, "stderr", None) or str(error)
            raise NotAllowed(f"network namespaces can't be made here: {said.strip()}") from None

    def _try(self) -> None:
        """Whether a program can be run in a host of this network at all."""
        first = Namespace(f"{self._name}h0", f"{self._addresses}.10")
        try:
            first.open(self._name)
            _ip("netns", "exec", first.name, "true")
        finally:
            first.close()

    def add_host(self) -> Namespace:
        number = len(self.hosts) + 1
        made = Namespace(f"{self._name}h{number}", f"{self._addresses}.{number + 10}")
        self.hosts.append(made)
        made.open(self._name)
        return made

    def close(self) -> None:
        for host in self.hosts:
            host.close()
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            _ip("link", "delete", self._name)


class Namespace:
    """A host as far as networks know it. The interface on the bridge and the namespace are called the same."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address

    def open(self, bridge: str) -> None:
        _ip("netns", "add", self.name)
        _ip("link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        _ip("link", "set", self.name, "master", bridge, "up")
        for words in (("address", "add", f"{self.address}/24", "dev", "eth0"), ("link", "set", "eth0", "up")):
            _ip("-netns", self.name, *words)
        _ip("-netns", self.name, "link", "set", "lo", "up")

    def inside(self, *words: str) -> list[str]:
        """A command line that runs in here."""
        return ["ip", "netns", "exec", self.name, *words]

    def pull(self) -> None:
        """Nothing comes or goes any more, and nobody is told so."""
        _ip("link", "set", self.name, "down")

    def plug(self) -> None:
        _ip("link", "set", self.name, "up")

    def processes(self) -> list[int]:
        """Everything that runs in here."""
        return [int(pid) for pid in _ip("netns", "pids", self.name).split()]

    def close(self) -> None:
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
            _ip("netns", "delete", self.name)


def sweep() -> None:
    """What trials left behind whose processes are gone."""
    for line in _ip("netns", "list").splitlines():
        if _is_stale(name := line.split()[0]):
            Namespace(name, "").close()
    for line in _ip("-oneline", "link", "show", "type", "bridge").splitlines():
        if _is_stale(name := line.split()[1].rstrip(":")):
            _ip("link", "delete", name)


def _is_stale(name: str) -> bool:
    found = _OURS.fullmatch(name)
    return found is not None and not Path(f"/proc/{found[1]}").exists()


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=60).stdout
