"""Every change of a group and its agents is an event, in the order in which it happened."""

from __future__ import annotations

from tests.lead.shop import Lead, Shop


def test_a_group_and_its_agents_leave_an_event_for_everything_that_happens_to_them(shop: Shop, lead: Lead) -> None:
    store = shop.board.store
    begin = events[-1].cursor if (events := store.events_after(None, 10_000)) else None
    planned = lead.plan(group := lead.group("sequential"), [shop.script().report_result()], [shop.script()])
    first, second = (agent["agentId"] for agent in planned["agents"])
    lead.ended(first, second)
    lead.call("delete_group", groupId=group)
    told = store.events_after(begin, 10_000)
    of = {subject: [event.kind for event in told if event.subject == subject] for subject in (group, first, second)}
    assert (of[group][0], of[group][-1]) == ("group.created", "group.deleted")
    assert len(of[group]) == 4, "planned, and moved to its second stage"
    assert of[first][0] == "execution.queued"
    assert of[second][:2] == ["execution.planned", "execution.reached"]
    assert of[second][2:] == ["execution.claimed", "execution.started", "execution.completed"]
    assert "execution.reported" in of[first]
    kinds = [(event.subject, event.kind) for event in told]
    assert kinds.index((first, "execution.reported")) < kinds.index((second, "execution.reached"))
