"""The page as a person uses it, from the link of `kumi open` to work that is done."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.fixtures import OpenStudio
from tests.browser.studio import Studio, known, live, new_context, run_row, visit
from tests.lead.shop import until


def test_the_link_of_kumi_open_signs_in_once(browser: Browser, studio: Studio) -> None:
    link = studio.link()
    first, second = new_context(browser), new_context(browser)
    page = first.new_page()
    page.goto(link)
    live(page)
    other = second.new_page()
    other.goto(link)
    expect(other.locator("body")).to_contain_text("kumi open")
    assert other.locator("nav").count() == 0
    first.close()
    second.close()


def test_a_group_of_two_stages_goes_from_the_dialog_to_done_without_a_reload(page: Page, studio: Studio) -> None:
    gate = studio.gate()
    page.evaluate("window.neverReloaded = true")
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="Start a group")
    dialog.get_by_label("What is it for?").fill("Build, then review")
    dialog.get_by_label("Role, stage 1, agent 1").fill("coder")
    dialog.get_by_label("Prompt, stage 1, agent 1").fill(
        studio.script().say("Building.").wait(gate).report_result(summary="Built.").prompt()
    )
    dialog.get_by_role("button", name="+ Stage").click()
    dialog.get_by_label("Role, stage 2, agent 1").fill("tester")
    dialog.get_by_label("Prompt, stage 2, agent 1").fill(
        studio.script().say("Reviewing.").report_result(summary="Looks right.").prompt()
    )
    dialog.get_by_role("button", name="Start", exact=True).click()
    group = page.locator("details.group", has_text="Build, then review")
    expect(group).to_contain_text("stage 1 of 2")
    expect(group.locator(".run-row")).to_have_count(2)
    expect(group.locator(".run-row", has_text="coder")).to_contain_text("Building.")
    expect(group.locator(".run-row", has_text="tester")).to_contain_text("queued")
    gate.touch()
    done = page.locator(".now-done")
    expect(done.locator(".run-row", has_text="Looks right.")).to_be_visible()
    expect(done.locator(".run-row", has_text="Built.")).to_be_visible()
    expect(group).to_have_count(0)
    assert page.evaluate("window.neverReloaded") is True


def test_the_dialog_says_beforehand_what_will_be_refused(browser: Browser, open_studio: OpenStudio) -> None:
    studio = open_studio(max_concurrent=2)
    context = new_context(browser)
    page = studio.enter(context)
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="Start a group")
    start = dialog.get_by_role("button", name="Start", exact=True)
    dialog.get_by_label("Role, stage 1, agent 1").fill("codr")
    expect(dialog.locator(".problems")).to_contain_text("No role is called “codr”. Did you mean “coder”?")
    expect(start).to_be_disabled()
    dialog.get_by_label("Role, stage 1, agent 1").fill("coder")
    dialog.get_by_label("Prompt, stage 1, agent 1").fill("Do it.")
    expect(start).to_be_enabled()
    for number in (2, 3):
        dialog.get_by_role("button", name="+ Agent").click()
        dialog.get_by_label(f"Role, stage 1, agent {number}").fill("coder")
        dialog.get_by_label(f"Prompt, stage 1, agent {number}").fill("Do it.")
    expect(dialog.locator(".problems")).to_contain_text("3 at once, but 2 of 2 slots are free.")
    expect(start).to_be_disabled()
    assert studio.kumi("run", "ls")["agents"] == []
    context.close()


def test_a_whole_plan_can_be_pasted(page: Page) -> None:
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="Start a group")
    page.evaluate(
        "text => navigator.clipboard.writeText(text)",
        "coder: Build it.\nwith tests\n---\ntester: Test it.\nwriter: Write it up.\n",
    )
    dialog.get_by_label("Prompt, stage 1, agent 1").focus()
    page.keyboard.press("Control+v")
    expect(dialog.get_by_label("Prompt, stage 1, agent 1")).to_have_value("Build it.\nwith tests")
    expect(dialog.get_by_label("Role, stage 2, agent 1")).to_have_value("tester")
    expect(dialog.get_by_label("Prompt, stage 2, agent 2")).to_have_value("Write it up.")


def test_a_run_is_stopped_by_key_after_asking(page: Page, studio: Studio) -> None:
    [run] = studio.asking.run(studio.asking.group(), studio.script().say("Busy.").hang())
    visit(page, "now")
    row = run_row(page, run)
    row.focus()
    page.keyboard.press("s")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert studio.asking.status(run)["status"] == "running"
    row.focus()
    page.keyboard.press("s")
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(page.locator(".now-done").locator(f"a[data-run={run}] .state-cancelled")).to_be_visible()
    assert studio.asking.status(run)["status"] == "cancelled"


def test_what_failed_needs_somebody_until_it_is_retried_or_dismissed(page: Page, studio: Studio) -> None:
    lead = studio.asking
    one, two = lead.run(
        lead.group(), studio.script().failure("first trouble"), studio.script().failure("second trouble")
    )
    lead.ended(one, two)
    needs = page.locator(".now-needs .need-row")
    expect(needs.filter(has_text="first trouble")).to_have_count(1)
    expect(needs.filter(has_text="second trouble")).to_have_count(1)
    needs.filter(has_text="second trouble").get_by_role("button", name="Dismiss").click()
    expect(needs.filter(has_text="second trouble")).to_have_count(0)
    needs.filter(has_text="first trouble").get_by_role("button", name="Do it once more").click()
    expect(page.locator("main[data-view=run]")).to_be_visible()
    again = re.sub(r".*#/run/", "", page.url)
    assert lead.status(again)["continues"] == one
    lead.ended(again)
    visit(page, "now")
    expect(needs.filter(has_text="first trouble")).to_have_count(1)
    expect(needs.locator(f"a[data-run={again}]")).to_be_visible()
    page.reload()
    live(page)
    expect(needs.filter(has_text="second trouble")).to_have_count(0)


def test_search_finds_by_words_and_opens_by_keyboard(page: Page, studio: Studio) -> None:
    studio.kumi("task", "add", "Polish the lighthouse lamp")
    page.keyboard.press("/")
    page.keyboard.type("lighthouse")
    hit = page.locator("#hits li", has_text="Polish the lighthouse lamp")
    expect(hit).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Task")).to_contain_text("Polish the lighthouse lamp")
    page.keyboard.press("/")
    page.keyboard.type("nothing has these words")
    expect(page.locator("#hits")).to_contain_text("Nothing found.")
    page.keyboard.press("Escape")
    expect(page.locator("#hits")).to_be_hidden()


def test_a_page_that_is_no_longer_signed_in_says_so(browser: Browser, studio: Studio) -> None:
    context = new_context(browser)
    page = studio.enter(context)
    context.clear_cookies()
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page.locator(".bar")).to_contain_text("This page is no longer signed in: run `kumi open`.")
    studio.enter(context).close()
    # It looks again when somebody comes back to it.
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    live(page)
    context.close()


def test_the_page_comes_back_after_a_kill_with_nothing_missing_or_doubled(
    browser: Browser, open_studio: OpenStudio
) -> None:
    studio = open_studio()
    context = new_context(browser)
    page = studio.enter(context)
    lead, gate = studio.asking, studio.gate()
    group = lead.group()
    script = (
        studio.script()
        .lines(30, text="before {n}")
        .wait(gate)
        .lines(30, text="after {n}")
        .report_result(summary="All said.")
    )
    runs = lead.run(group, script, script)
    page.evaluate("window.neverReloaded = true")
    visit(page, f"run/{runs[0]}")
    expect(page.locator(".conversation")).to_contain_text("before 30")
    studio.kill_host()
    expect(page.locator(".bar")).to_contain_text("The connection is lost.")
    expect(page.locator(".conversation")).to_contain_text("before 30")
    gate.touch()
    extra = studio.kumi("task", "add", "Made while it was away")
    studio.up()
    live(page)
    until(lambda: all(lead.status(run)["endedAt"] for run in runs))
    expect(page.locator(".run-head")).to_contain_text("done")
    expect(page.locator(".conversation")).to_contain_text("after 30")
    said = [
        text for text in page.locator(".conversation .said").all_text_contents() if text.startswith(("before", "after"))
    ]
    assert said == [f"before {n}" for n in range(1, 31)] + [f"after {n}" for n in range(1, 31)]
    visit(page, "now")
    for run in runs:
        expect(run_row(page, run)).to_have_count(1)
    page.wait_for_function("async id => (await import('/assets/store.js')).store.tasks.has(id)", arg=extra["taskId"])
    mine = known(page, "[...store.runs.values()].map(run => [run.agentId, run.status])")
    assert sorted(mine) == sorted([one["agentId"], one["status"]] for one in studio.api("run/list")["agents"])
    assert page.evaluate("window.neverReloaded") is True
    context.close()
