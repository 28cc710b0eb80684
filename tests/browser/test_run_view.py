"""A run, read as a conversation."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.studio import Studio, visit

NASTY = (
    '<img src=x onerror="window.broken=1"> <script>window.broken=1</script> \x1b[31mred\x1b[0m \x1b]0;title\x07'
    " a\u202eb \x07 end"
)


def test_a_run_reads_as_a_conversation_with_tools_and_diffs(page: Page, studio: Studio) -> None:
    (studio.folder / "song.txt").write_text("one\ntwo\nthree\n")
    script = (
        studio.script()
        .say("I'll look first.")
        .tool("Read", file_path="song.txt", result="one two three")
        .edit("song.txt", "two\n", "zwei\nund mehr\n")
        .tool("Bash", command="make test", ok=False, result="1 failed")
        .errors("a complaint on stderr\n")
        .report_result(summary="Translated.", response="Only the second line.")
    )
    [run] = studio.asking.run(studio.asking.group(), script)
    studio.asking.ended(run)
    visit(page, f"run/{run}")
    expect(page.locator(".outcome")).to_contain_text("Translated.")
    expect(page.locator(".conversation .said").first).to_have_text("I'll look first.")
    read = page.locator(".tool", has_text="Read")
    expect(read).to_have_count(1)
    read.locator("summary").click()
    expect(read).to_contain_text("one two three")
    expect(page.locator(".entry[data-outcome=failed] .tool-name")).to_have_text("Bash")
    diff = page.locator(".diff", has_text="song.txt")
    expect(diff.locator("tr.removed")).to_have_count(1)
    assert diff.locator("tr.added .code").all_inner_texts() == ["zwei", "und mehr"]
    assert diff.locator("tr.added .at").all_inner_texts() == ["", "1", "", "2"]
    page.locator(".errors summary").click()
    expect(page.locator(".errors")).to_contain_text("a complaint on stderr")
    expect(page.locator(".files").first).to_contain_text("song.txt")


def test_what_an_agent_says_is_shown_as_harmless_text(page: Page, studio: Studio) -> None:
    script = studio.script().say(NASTY).tool("<b>tool</b>", what=NASTY, result=NASTY).report_result(summary=NASTY)
    [run] = studio.asking.run(studio.asking.group(), script)
    studio.asking.ended(run)
    expect(page.locator(".now-done")).to_contain_text("<script>window.broken=1</script> red a⟨U+202E⟩b end")
    visit(page, f"run/{run}")
    said = page.locator(".conversation .said").first
    expect(said).to_contain_text("<img src=x onerror=")
    text = said.inner_text()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\x07" not in text
    page.locator(".prompt summary").click()
    expect(page.locator(".prompt pre")).to_contain_text("<script>")
    assert page.locator("main img, main script").count() == 0
    assert page.evaluate("window.broken") is None


def test_a_run_is_followed_until_one_scrolls_up_and_then_counts(page: Page, studio: Studio) -> None:
    first, second = studio.gate(), studio.gate()
    script = (
        studio.script().lines(80, text="early {n}").wait(first).lines(12, text="late {n}").wait(second).report_result()
    )
    [run] = studio.asking.run(studio.asking.group(), script)
    visit(page, f"run/{run}")
    expect(page.get_by_text("early 80", exact=True)).to_be_in_viewport()
    page.locator("main").evaluate("main => { main.scrollTop = 0 }")
    page.wait_for_function("() => document.querySelector('main').scrollTop === 0")
    first.touch()
    fresh = page.get_by_role("button", name="12 new lines")
    expect(fresh).to_be_visible()
    assert page.locator("main").evaluate("main => main.scrollTop") == 0
    fresh.click()
    expect(page.get_by_text("late 12", exact=True)).to_be_in_viewport()
    second.touch()
    studio.asking.ended(run)


def test_a_run_that_has_ended_goes_on_with_what_is_typed(page: Page, studio: Studio) -> None:
    [run] = studio.asking.run(studio.asking.group(), studio.script().say("First half."))
    studio.asking.ended(run)
    visit(page, f"run/{run}")
    page.get_by_label("Go on with another prompt").fill(studio.script().say("Second half.").prompt())
    page.get_by_role("button", name="Continue").click()
    expect(page.locator(".conversation")).to_contain_text("Second half.")
    expect(page.locator(".facts")).to_contain_text(run[:9])
