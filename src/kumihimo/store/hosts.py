"""Hosts and their leases. Not part of the log: a lease is news for half a minute."""

from __future__ import annotations

from kumihimo.domain.host import Host
from kumihimo.store.connection import Connection
from kumihimo.store.mapping import microseconds, moment


class Hosts:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def renew(self, host: Host) -> None:
        self._connection.execute(
            "INSERT INTO hosts (id, name, slots, lease_until) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "name = excluded.name, slots = excluded.slots, lease_until = excluded.lease_until",
            (host.id, host.name, host.slots, microseconds(host.lease_until)),
        )

    def all(self) -> list[Host]:
        rows = self._connection.execute("SELECT id, name, slots, lease_until FROM hosts ORDER BY name, id")
        return [Host(row[0], row[1], row[2], moment(row[3])) for row in rows]
