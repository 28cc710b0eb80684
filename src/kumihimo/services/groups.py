"""Groups: runs that belong together."""

from __future__ import annotations

from kumihimo.domain import text
from kumihimo.domain.errors import GroupHasRunningAgents, GroupNotFound
from kumihimo.domain.event import Change
from kumihimo.domain.group import Group, GroupMode, identify
from kumihimo.services.service import Service, command, lookup, query
from kumihimo.store.store import Transaction


def find(transaction: Transaction, reference: str) -> Group:
    found = None if "\0" in reference else transaction.groups.get(reference)
    if found is None:
        raise GroupNotFound(reference[:80])
    return found


class Groups(Service):
    @command
    def create(
        self,
        transaction: Transaction,
        description: str,
        *,
        mode: GroupMode = "concurrent",
        project_id: str | None = None,
    ) -> Group:
        now = self.clock()
        description = text.long("description", description)
        while True:
            # Four digits may repeat within a second: another try, never two groups with one id.
            identifier = identify(now, self.identifiers.hexadecimal(4))
            group = Group(identifier, project_id, description, mode, "active", now)
            if transaction.groups.add(Change(group, "group.created", now)):
                return group

    @command
    def delete(self, transaction: Transaction, reference: str) -> Group:
        """Gone from view; its runs and their results stay. One that is deleted already is not found."""
        found = find(transaction, reference)
        group = transaction.groups.lock(found.id) or found
        if group.status == "deleted":
            raise GroupNotFound(group.id)
        running = transaction.executions.running_in_group(group.id)
        if running:
            raise GroupHasRunningAgents(group.id, running)
        change = group.delete(self.clock())
        transaction.groups.save(change)
        return change.value

    @lookup
    def show(self, transaction: Transaction, reference: str) -> Group:
        return find(transaction, reference)

    @query
    def list(self, transaction: Transaction) -> list[Group]:
        """Newest first, deleted ones included."""
        return transaction.groups.newest()
