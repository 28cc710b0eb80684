"""The headers that a configuration gives to each request of a server, whatever carries it."""

from __future__ import annotations

from kumihimo.wire.client.errors import ConnectionFailed
from kumihimo.wire.client.targets import Url


def own_headers(target: Url) -> dict[str, str]:
    """ConnectionFailed where one can't be sent; its value may be a secret and is not told."""
    headers = {**target.headers, **({"Authorization": f"Bearer {target.bearer}"} if target.bearer is not None else {})}
    for name, value in headers.items():
        if not (name + value).isprintable() or ":" in name or " " in name:
            raise ConnectionFailed(f"the header {name[:60]!r} can't be sent: it holds what a header can't")
        try:
            f"{name}{value}".encode("latin-1")
        except UnicodeEncodeError:
            raise ConnectionFailed(f"the header {name[:60]!r} can't be sent: it is not Latin-1") from None
    return {name: value.strip() for name, value in headers.items()}


def header_lines(target: Url) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in own_headers(target).items()).encode("latin-1")
