"""Who may reach a server by HTTP: checks of Host and Origin against names that are allowed.

Without them a web page anywhere could talk to a server on the reader's own machine by rebinding its DNS name.
"""

from collections.abc import Iterable
from typing import Final

LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_MOST_REMEMBERED: Final = 256


class Gate:
    """Admits requests whose Host, and Origin where there is one, is on the list.

    `hosts` are names without port (any port is right) or with one; `*` admits any. `origins` are further origins in
    full, as `https://app.example`; a page of an allowed host is always admitted.
    """

    def __init__(self, hosts: Iterable[str] = LOOPBACK, origins: Iterable[str] = ()) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        self._decided: dict[tuple[bytes | None, bytes | None], bool] = {}

    def admits(self, host: bytes | None, origin: bytes | None) -> bool:
        decided = self._decided.get((host, origin))
        if decided is None:
            decided = self._host_admitted(host) and (origin is None or self._origin_admitted(origin))
            if len(self._decided) < _MOST_REMEMBERED:
                self._decided[host, origin] = decided
        return decided

    def _host_admitted(self, host: bytes | None) -> bool:
        if "*" in self._hosts:
            return True
        return host is not None and self._listed(host.decode("latin-1").strip().lower())

    def _origin_admitted(self, origin: bytes) -> bool:
        text = origin.decode("latin-1").strip().lower()
        if text in self._origins:
            return True
        scheme, separator, authority = text.partition("://")
        return bool(separator) and scheme in {"http", "https"} and self._listed(authority)

    def _listed(self, authority: str) -> bool:
        return authority in self._hosts or _without_port(authority) in self._hosts


def _without_port(authority: str) -> str:
    name, colon, port = authority.rpartition(":")
    return name if colon and port.isdigit() else authority
