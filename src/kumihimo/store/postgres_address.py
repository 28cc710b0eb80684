"""Where a PostgreSQL is: a URL of libpq, with one word of our own.

`listen=HOST:PORT` names where notices are heard when the URL leads to a pooler, which passes none on. Everything else of the
URL (user, database, TLS) holds there too. Several hosts may be named, here as there.
"""

from __future__ import annotations

from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

_LISTEN = "listen"
# A server that vanished without a word is noticed within half a minute, and one that is there is never given up: it answers
# for as long as a lock takes.
_DEFAULTS: dict[str, str | int] = {
    "application_name": "kumihimo",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}


class PostgresAddress:
    def __init__(self, url: str) -> None:
        """psycopg.ProgrammingError where it is not one."""
        plain, listen = _split(url)
        said = {name: value for name, value in conninfo_to_dict(plain).items() if value is not None}
        self._parameters: dict[str, str | int] = _DEFAULTS | said
        if "," in str(said.get("host", "")):
            # Of several servers only one takes commands, and it is not always the first; one that is gone may not even refuse.
            self._parameters = {**_DEFAULTS, "connect_timeout": 3, "target_session_attrs": "read-write", **said}
        self._listen = listen

    @property
    def place(self) -> str:
        """So that it can be shown: no password in it."""
        hosts = str(self._parameters.get("host", "localhost")).split(",")
        ports = str(self._parameters.get("port", 5432)).split(",")
        pairs = zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=False)
        database = self._parameters.get("dbname", "")
        return f"postgresql://{','.join(f'{_bracketed(host)}:{port or 5432}' for host, port in pairs)}/{database}"

    @property
    def listens_elsewhere(self) -> bool:
        return bool(self._listen)

    @property
    def serving(self) -> str:
        """For a connection that carries commands, as libpq wants it."""
        return make_conninfo("", **self._parameters)

    @property
    def listening(self) -> str:
        """For a connection that hears notices."""
        if not self._listen:
            return self.serving
        pairs = [_host_and_port(each) for each in self._listen.split(",")]
        other = {name: value for name, value in self._parameters.items() if name != "hostaddr"}
        other |= {"host": ",".join(host for host, _ in pairs), "port": ",".join(port for _, port in pairs)}
        return make_conninfo("", **other)


def place_of(url: str) -> str:
    """For messages, also where the URL is none."""
    try:
        return PostgresAddress(url).place
    except psycopg.ProgrammingError:
        return "postgresql://…"


def _split(url: str) -> tuple[str, str]:
    """The URL as libpq knows it, and our own word."""
    front, mark, query = url.partition("?")
    words = [word.partition("=") for word in query.split("&")] if mark else []
    rest = "&".join("".join(word) for word in words if word[0] != _LISTEN)
    listen = next((unquote(value) for name, _, value in words if name == _LISTEN), "")
    return front + (f"?{rest}" if rest else ""), listen


def _host_and_port(text: str) -> tuple[str, str]:
    """A folder of sockets and an IPv6 address have no colon before their port, or more than one."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or (":" in host and not host.endswith("]")):
        host, port = text, "5432"
    return host.removeprefix("[").removesuffix("]"), port


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
