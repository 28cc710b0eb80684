"""The board: moving, assigning, opening at the side."""

from __future__ import annotations

import subprocess
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.studio import Studio, known, visit


def card(page: Page, title: str) -> Any:
    return page.locator(".card", has_text=title)


def column(page: Page, status: str) -> Any:
    return page.locator(f".column[data-status={status}]")


def repository(studio: Studio) -> None:
    """The studio's folder as a git repository, once."""
    if not (studio.folder / ".git").exists():
        script = "git init -q . && git config user.email a@b.cc && git config user.name a && git commit -q --allow-empty -m one"
        subprocess.run(script, shell=True, cwd=studio.folder, check=True, timeout=60)


def test_a_task_is_moved_by_key_and_by_drag(page: Page, studio: Studio) -> None:
    number = studio.kumi("task", "add", "Moved about", "--assignee", "coder")["id"]
    visit(page, "board")
    card(page, "Moved about").focus()
    page.keyboard.press("m")
    page.keyboard.press("p")
    expect(column(page, "in_progress").locator(".card", has_text="Moved about")).to_be_focused()
    assert studio.kumi("task", "show", str(number))["status"] == "in_progress"
    card(page, "Moved about").drag_to(column(page, "blocked"))
    expect(column(page, "blocked").locator(".card", has_text="Moved about")).to_be_visible()
    assert studio.kumi("task", "show", str(number))["status"] == "blocked"


def test_a_move_that_is_refused_is_explained_and_nothing_moves(page: Page, studio: Studio) -> None:
    studio.kumi("task", "add", "Not yet to be done")
    visit(page, "board")
    card(page, "Not yet to be done").focus()
    page.keyboard.press("m")
    page.keyboard.press("k")
    notice = page.locator(".notice")
    expect(notice).to_contain_text("blocked")
    expect(column(page, "todo").locator(".card", has_text="Not yet to be done")).to_be_visible()
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_have_count(0)


def test_a_card_opens_at_the_side_and_is_assigned_there_while_the_board_stays(page: Page, studio: Studio) -> None:
    first = studio.kumi("task", "add", "Dig the ditch")["id"]
    number = studio.kumi("task", "add", "Lay the pipe", "--depends-on", str(first), "--dod", "make pipe")["id"]
    visit(page, "board")
    expect(card(page, "Lay the pipe")).to_contain_text(f"after #{first}")
    card(page, "Lay the pipe").focus()
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Task")
    expect(panel).to_contain_text("make pipe")
    expect(panel).to_contain_text(f"#{first} Dig the ditch")
    expect(card(page, "Dig the ditch")).to_be_visible()
    panel.get_by_label("Assignee").select_option("tester")
    expect(card(page, "Lay the pipe")).to_contain_text("tester")
    assert studio.kumi("task", "show", str(number))["assignee"] == "tester"
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_be_hidden()
    expect(card(page, "Lay the pipe")).to_be_focused()


def test_a_task_is_made_on_the_board_and_what_others_make_appears_by_itself(page: Page, studio: Studio) -> None:
    visit(page, "board")
    page.keyboard.press("c")
    dialog = page.get_by_role("dialog", name="New task")
    dialog.get_by_label("Title").fill("Made on the page")
    dialog.get_by_label("Assignee").select_option("coder")
    dialog.get_by_role("button", name="Create").click()
    expect(card(page, "Made on the page")).to_contain_text("coder")
    studio.kumi("task", "add", "Made in a terminal")
    expect(card(page, "Made in a terminal")).to_be_visible()
    assert card(page, "Made on the page").count() == 1


def test_blocked_tasks_and_handoffs_need_somebody(page: Page, studio: Studio) -> None:
    number = str(studio.kumi("task", "add", "Open the safe", "--assignee", "coder")["id"])
    studio.kumi("task", "update", number, "--status", "in_progress")
    studio.kumi(
        "handoff", "create", number, "--from", "coder", "--to", "writer", "--summary", "Take this over, please."
    )
    studio.kumi("task", "update", number, "--status", "blocked", "--reason", "Nobody knows the code.")
    needs = page.locator(".now-needs .need-row")
    expect(needs.filter(has_text="Nobody knows the code.")).to_have_count(1)
    handed = needs.filter(has_text="Take this over, please.")
    expect(handed).to_contain_text("coder → writer")
    handed.get_by_role("button", name="Accept the handoff").click()
    expect(handed).to_have_count(0)
    assert known(page, "store.handoffs.length") == 0


def test_a_worker_is_started_from_its_task(page: Page, studio: Studio) -> None:
    repository(studio)
    title = "Work for a worker"
    studio.kumi("task", "add", title, "--assignee", "coder", "--description", studio.script().say("At it.").prompt())
    visit(page, "board")
    card(page, title).click()
    panel = page.get_by_role("complementary", name="Task")
    panel.get_by_role("button", name="Start a worker").click()
    expect(panel.locator(".line")).to_contain_text("coder")
    expect(panel.locator(".line .state-done")).to_be_visible()
    expect(card(page, title).locator(".state-done")).to_be_visible()


def test_a_person_may_call_a_task_done_whose_checks_were_never_run(page: Page, studio: Studio) -> None:
    number = str(studio.kumi("task", "add", "Done by hand", "--assignee", "coder", "--dod", "false")["id"])
    studio.kumi("task", "update", number, "--status", "in_progress")
    visit(page, "board")
    card(page, "Done by hand").drag_to(column(page, "done"))
    page.get_by_role("dialog").get_by_role("button", name="It is done").click()
    expect(column(page, "done").locator(".card", has_text="Done by hand")).to_be_visible()
    assert studio.kumi("task", "show", number)["status"] == "done"


def test_work_that_waits_for_its_merge_is_merged_from_the_first_page(page: Page, studio: Studio) -> None:
    repository(studio)
    script = (
        studio.script()
        .write("merged.txt", "in\n")
        .shell("git add . && git commit -qm in")
        .report_result(summary="It is in.")
    )
    task = studio.kumi("task", "add", "To be merged", "--assignee", "coder", "--description", script.prompt())
    studio.kumi("worker", "run", str(task["id"]), "--exec", "--detach")
    studio.kumi("worker", "wait", str(task["id"]))
    need = page.locator(".need-row", has_text="waits for its merge: To be merged")
    expect(need).to_be_visible()
    need.get_by_role("button", name="Run the checks and merge").click()
    expect(need).to_have_count(0)
    assert studio.kumi("task", "show", str(task["id"]))["status"] == "done"
    assert (studio.folder / "merged.txt").exists()
