"""Agents, history, the hub and health."""

from __future__ import annotations

from pathlib import Path

import yaml
from playwright.sync_api import Browser, Page, expect

from tests.browser.fixtures import OpenStudio
from tests.browser.studio import Studio, new_context, run_row, visit
from tests.hub.hub_kit import Scripted
from tests.lead.shop import until


def test_a_role_is_edited_and_checked(page: Page, studio: Studio) -> None:
    visit(page, "agents")
    row = page.locator("tr", has_text="tester")
    row.get_by_role("button", name="Edit tester").click()
    dialog = page.get_by_role("dialog", name="Edit tester")
    dialog.get_by_label("What it is for").fill("Breaks things on purpose")
    dialog.get_by_label("Checks that must pass").fill("make test\nmake check\n")
    dialog.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Breaks things on purpose")
    assert studio.kumi("agent", "show", "tester")["dod"] == ["make test", "make check"]
    row.get_by_role("button", name="Check tester now").click()
    expect(row).to_contain_text("well")


def test_history_is_filtered_and_the_filter_is_in_the_address(page: Page, studio: Studio) -> None:
    lead = studio.asking
    group = lead.call("create_group", description="For the record")["groupId"]
    good, bad = lead.run(group, studio.script().say("Fine."), studio.script().failure("not fine"))
    lead.ended(good, bad)
    visit(page, f"history?group={group}")
    expect(page.locator(".history-row")).to_have_count(2)
    page.get_by_label("State").select_option("failed")
    expect(page.locator(".history-row")).to_have_count(1)
    expect(page.locator(f".history-row a[data-run={bad}]")).to_be_visible()
    assert "status=failed" in page.url
    page.get_by_label("State").select_option("")
    page.get_by_label("Role").select_option("writer")
    expect(page.get_by_text("No run matches.")).to_be_visible()


def test_the_hub_shows_servers_their_tools_and_what_they_take(page: Page, studio: Studio, tmp_path: Path) -> None:
    visit(page, "hub")
    expect(page.get_by_role("button", name="Copy the command: kumi hub import")).to_be_visible()
    alpha = Scripted(tmp_path, "alpha", {"name": "echo", "description": "Says <b>it</b> again."})
    (studio.folder / "mcp.config.yaml").write_text(yaml.safe_dump({"servers": [alpha.config]}))
    until(lambda: studio.api("hub/servers")["servers"])
    studio.api("hub/call", tool="alpha:echo", params={})
    visit(page, "now")
    visit(page, "hub")
    server = page.locator("tr", has_text="alpha")
    expect(server).to_be_visible()
    expect(page.locator(".tools li", has_text="alpha:echo")).to_contain_text("Says <b>it</b> again.")
    page.get_by_label("Search tools").fill("nothing like it")
    expect(page.locator(".tools li")).to_have_count(0)
    page.get_by_label("Search tools").fill("echo")
    page.locator(".tools a", has_text="alpha:echo").click()
    expect(page.get_by_role("dialog", name="alpha:echo")).to_contain_text("Says <b>it</b> again.")
    (studio.folder / "mcp.config.yaml").write_text("servers: [")
    until(lambda: "problem" in studio.api("hub/servers"))
    visit(page, "now")
    visit(page, "hub")
    expect(page.get_by_text("The servers behind the hub stay as they were")).to_contain_text("mcp.config.yaml:1")
    expect(page.locator("tr", has_text="alpha")).to_be_visible()


def test_health_shows_what_the_doctor_finds_and_the_limits(page: Page, studio: Studio) -> None:
    visit(page, "health")
    expect(page.get_by_role("row", name="in order git")).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("0 of 20 in use")
    expect(page.locator(".facts")).to_contain_text(studio.database)


def test_one_project_of_several_is_chosen_and_only_its_work_is_shown(
    browser: Browser, open_studio: OpenStudio, tmp_path: Path
) -> None:
    studio = open_studio()
    (tmp_path / "barn").mkdir()
    studio.kumi("project", "add", "barn", "--dir", str(tmp_path / "barn"))
    for role in ("coder", "tester"):
        studio.kumi("project", "assign", "barn", role)
    studio.kumi("task", "add", "Sell the hay")
    studio.kumi("task", "add", "Mend the roof", "--project", "barn")
    script = studio.script()
    here, there = studio.asking.run(
        studio.asking.group(),
        script.say("In the shop."),
        {"prompt": script.prompt(), "workingDirectory": str(tmp_path / "barn")},
    )
    studio.asking.ended(here, there)
    context = new_context(browser)
    page = studio.enter(context)
    expect(page.locator(".now-done .run-row")).to_have_count(2)
    page.get_by_label("Project").select_option("barn")
    expect(page.locator(".now-done .run-row")).to_have_count(1)
    expect(run_row(page, there)).to_be_visible()
    visit(page, "board")
    expect(page.locator(".card")).to_have_count(1)
    expect(page.locator(".card")).to_contain_text("Mend the roof")
    page.keyboard.press("c")
    page.get_by_role("dialog").get_by_label("Title").fill("Feed the hens")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".card", has_text="Feed the hens")).to_be_visible()
    assert [task["title"] for task in studio.kumi("task", "ls", "--project", "barn")["tasks"]] == [
        "Feed the hens",
        "Mend the roof",
    ]
    page.get_by_label("Project").select_option("All projects")
    expect(page.locator(".card")).to_have_count(3)
    context.close()


def test_what_is_not_there_offers_nothing_to_be_done_with_it(page: Page) -> None:
    visit(page, "board/tsk_nowhere")
    expect(page.get_by_role("alert").or_(page.locator(".notice")).first).to_contain_text("tsk_nowhere")
    expect(page.locator(".panel").get_by_role("button")).to_have_count(1)
    visit(page, "run/exec_nowhere")
    expect(page.locator(".notice", has_text="exec_nowhere")).to_be_visible()
    expect(page.locator("main").get_by_role("button")).to_have_count(0)


def test_an_empty_history_says_whether_that_is_by_its_filters(browser: Browser, open_studio: OpenStudio) -> None:
    fresh = open_studio()
    context = new_context(browser)
    page = fresh.enter(context)
    visit(page, "history")
    expect(page.get_by_text("No runs yet. Press n to start a group.")).to_be_visible()
    page.get_by_label("State").select_option("failed")
    expect(page.get_by_text("No run matches.")).to_be_visible()
    context.close()
