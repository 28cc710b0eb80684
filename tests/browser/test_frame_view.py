"""What holds for every view: keyboard, names, languages, light and dark, a phone, 200 agents."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.studio import VIEWS, Studio, known, live, new_context, run_row, visit

UNNAMED = """() => {
  const named = (node) => {
    if (node.getAttribute("aria-label") || node.getAttribute("title")) return true;
    const by = node.getAttribute("aria-labelledby");
    if (by && document.getElementById(by)?.textContent.trim()) return true;
    if (node.id && document.querySelector(`label[for="${node.id}"]`)?.textContent.trim()) return true;
    if (node.closest("label")?.textContent.trim()) return true;
    return !node.matches("input, select, textarea") && node.textContent.trim() !== "";
  };
  const controls = "button, a[href], input, select, textarea, summary, dialog, [role=progressbar], nav, aside";
  const all = [...document.querySelectorAll(controls)];
  return all.filter((node) => node.checkVisibility() && !named(node)).map((node) => node.outerHTML.slice(0, 200));
}"""

# 200 agents at work, as the stream would tell of them.
CROWD = """async (round) => {
  const { store } = await import("/assets/store.js");
  const begun = "2026-01-01T00:00:00Z";
  const run = (n) => ({
    agentId: `exec_${String(n).padStart(12, "0")}`, groupId: `grp-1700000000-${n % 2 ? "aaaa" : "bbbb"}`, role: `role${n % 7}`,
    status: "running", startedAt: begun, queuedAt: `2026-01-01T00:00:00.${String(n).padStart(3, "0")}Z`, endedAt: null,
    toolCallCount: round * n, lastAssistantMessage: `Round ${round}: ${"word ".repeat((n * round) % 40)}`, recentToolCalls: [],
    usage: { inputTokens: round * 1000 * n, outputTokens: 10 }, result: null, stageIndex: null, prompt: "p",
    editedFiles: [], createdFiles: [],
  });
  const runs = Array.from({ length: 200 }, (_, n) => run(n));
  if (round === 0) {
    const group = (end) => ({ groupId: `grp-1700000000-${end}`, description: end, createdAt: begun, status: "active" });
    const groups = ["aaaa", "bbbb"].map(group);
    store.apply({ type: "snapshot", data: { groups, agents: runs, tasks: [] } });
  } else for (const one of runs) store.apply({ type: "agent:status_update", data: one });
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""


def test_every_view_and_every_row_is_reached_by_keyboard_alone(page: Page, studio: Studio) -> None:
    runs = studio.asking.run(studio.asking.group(), studio.script().say("One."), studio.script().say("Two."))
    studio.asking.ended(*runs)
    for key, name in {"b": "board", "a": "agents", "h": "history", "u": "hub", "l": "health", "n": "now"}.items():
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.locator(f"main[data-view={name}]")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("h")
    expect(page.locator(".history-row")).to_have_count(2)
    page.keyboard.press("j")
    expect(page.locator(".history-row a").nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(".history-row a").nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator(".history-row a").nth(0)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main[data-view=run] .conversation")).to_contain_text("Two.")
    page.keyboard.press("r")
    expect(page.locator(".facts")).to_contain_text("Goes on from")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_keys_are_left_to_whoever_is_typing(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("gnb?")
    expect(page.locator("#search")).to_have_value("gnb?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("main[data-view=now]")).to_be_visible()


def test_tab_reaches_the_content_and_shows_where_it_is(page: Page) -> None:
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    outline = skip.evaluate("node => getComputedStyle(node).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


@pytest.mark.parametrize("view", VIEWS)
def test_every_control_of_a_view_has_a_name(page: Page, studio: Studio, view: str) -> None:
    if not studio.kumi("task", "ls")["tasks"]:
        studio.kumi("task", "add", "A card to look at")
    visit(page, view)
    assert page.evaluate(UNNAMED) == []
    assert page.locator("main h1").count() == 1
    assert page.evaluate(
        "document.querySelectorAll('[id]').length === new Set([...document.querySelectorAll('[id]')].map((one) => one.id)).size"
    )


def test_every_control_of_a_dialog_a_panel_and_a_run_has_a_name(page: Page, studio: Studio) -> None:
    [run] = studio.asking.run(studio.asking.group(), studio.script().say("Hello.").tool("Read", path="a", result="b"))
    studio.asking.ended(run)
    visit(page, f"run/{run}")
    expect(page.locator(".tool")).to_have_count(1)
    assert page.evaluate(UNNAMED) == []
    task = studio.kumi("task", "add", "A card with a panel")["taskId"]
    visit(page, f"board/{task}")
    expect(page.locator(".panel")).to_contain_text("A card with a panel")
    assert page.evaluate(UNNAMED) == []
    for keys in ("n", "c", "?"):
        page.keyboard.press(keys)
        expect(page.get_by_role("dialog")).to_be_visible()
        assert page.evaluate(UNNAMED) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_language_and_the_light_are_switched_and_stay_switched(page: Page) -> None:
    expect(page.locator("nav")).to_contain_text("History")
    page.get_by_role("button", name="日本語で表示する").click()
    expect(page.locator("nav")).to_contain_text("履歴")
    page.get_by_role("button", name="明るい表示と暗い表示の切り替え").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    live(page)
    expect(page.locator("nav")).to_contain_text("履歴")
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dataset.theme]") == ["ja", "dark"]


def test_language_and_light_follow_the_system_at_first(browser: Browser, studio: Studio) -> None:
    context = new_context(browser, locale="ja-JP", color_scheme="dark")
    page = studio.enter(context)
    expect(page.locator("nav")).to_contain_text("ボード")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 19, 23)"
    context.close()


@pytest.mark.parametrize("view", [*VIEWS, "run"])
def test_nothing_is_wider_than_a_phone(browser: Browser, studio: Studio, view: str) -> None:
    context = new_context(browser, viewport={"width": 390, "height": 844})
    page = studio.enter(context)
    [run] = studio.asking.run(studio.asking.group(), studio.script().say("A word. " * 40).failure("trouble " * 20))
    studio.asking.ended(run)
    visit(page, f"run/{run}" if view == "run" else view)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # The board alone is scrolled sideways, within itself.
    assert page.locator("main").evaluate("main => main.scrollWidth <= main.clientWidth")
    context.close()


def test_200_agents_at_work_move_nothing_on_the_page(page: Page) -> None:
    visit(page, "now")
    page.evaluate(CROWD, 0)
    expect(page.locator(".now-working .run-row")).to_have_count(200)
    page.evaluate("""() => {
      window.shifts = [];
      const note = (list) => window.shifts.push(...list.getEntries().map((entry) => entry.value));
      new PerformanceObserver(note).observe({ type: "layout-shift" });
      window.rows = [...document.querySelectorAll(".now-working .run-row")];
      window.places = window.rows.map((row) => row.offsetTop);
    }""")
    for turn in range(1, 6):
        page.evaluate(CROWD, turn)
    expect(page.locator(".now-working .run-row").first).to_contain_text("Round 5")
    assert page.evaluate("window.shifts") == []
    assert page.evaluate("window.rows.every((row, n) => row.isConnected && row.offsetTop === window.places[n])")


def test_a_long_list_has_only_what_is_seen_on_the_page(page: Page) -> None:
    shown = page.evaluate("""async () => {
      const { Windowed } = await import("/assets/windowed.js");
      const main = document.querySelector("main");
      const make = () => {
        const root = document.createElement("li");
        return { root, update: (one) => { root.textContent = one; } };
      };
      const list = new Windowed(main, 32, make, (item) => item);
      main.replaceChildren(list.root);
      list.show(Array.from({ length: 50000 }, (_, n) => `row ${n}`));
      const first = list.root.children.length;
      main.scrollTop = 32 * 40000;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const texts = [...list.root.children].map((row) => row.textContent);
      list.close();
      return [first, texts];
    }""")
    first, texts = shown
    assert 20 < first < 100
    assert len(texts) < 100
    assert "row 40010" in texts
    assert "row 0" not in texts


def test_the_first_paint_needs_less_than_100_kilobytes_and_nothing_from_elsewhere(
    browser: Browser, studio: Studio
) -> None:
    context = new_context(browser)
    asked: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    # What is fetched when there is nothing else to do is not needed for it.
    page.add_init_script("window.requestIdleCallback = () => 0")
    page.goto(studio.link())
    live(page)
    sizes = page.evaluate("""() => performance.getEntries()
      .filter((it) => it.entryType === "navigation" || it.name.includes("/assets/"))
      .map((it) => [it.decodedBodySize, it.encodedBodySize])""")
    plain, packed = (sum(column) for column in zip(*sizes, strict=True))
    assert 20_000 < plain < 100_000
    assert packed < 50_000
    host = studio.host
    assert host is not None
    assert [url for url in asked if not url.startswith(host.url)] == []
    context.close()


def test_only_what_needs_somebody_is_spoken(page: Page, studio: Studio) -> None:
    spoken = page.locator("[aria-live=assertive]")
    [fine] = studio.asking.run(studio.asking.group(), studio.script().say("All is well."))
    studio.asking.ended(fine)
    expect(run_row(page, fine).first).to_be_visible()
    assert spoken.inner_text() == ""
    [bad] = studio.asking.run(studio.asking.group(), studio.script().failure("the roof is on fire"))
    studio.asking.ended(bad)
    expect(spoken).to_contain_text("the roof is on fire")
    assert known(page, "document.title").startswith("(")
