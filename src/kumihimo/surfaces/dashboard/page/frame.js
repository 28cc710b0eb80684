/** What stays while views come and go: the top line, the way to the views, the bar of a lost connection. */

import { button } from "./badge.js";
import { chooseProject, chosenProject, isDark, switchTheme } from "./choices.js";
import { tick } from "./clock.js";
import { reconnect } from "./connection.js";
import { select } from "./fields.js";
import { element, setAttribute, setHidden, setText } from "./element.js";
import { money, tokens } from "./format.js";
import { showKeys, startNew } from "./keys.js";
import { needsYou } from "./needs.js";
import { noticeRegion } from "./notices.js";
import { place } from "./router.js";
import { searchBox } from "./search-box.js";
import { store } from "./store.js";
import { clean } from "./text.js";
import { today } from "./today.js";
import { VIEWS } from "./views.js";
import { currentLanguage, switchLanguage, words } from "./words.js";

/** @param {() => void} rebuild when the language has changed */
export function buildFrame(rebuild) {
  const main = element("main", { id: "main", tabindex: "-1" });
  const top = topLine(rebuild);
  const rail = navigation();
  const bar = connectionBar();
  const speaking = element("div", { class: "unseen", "aria-live": "assertive" });
  const skip = element("a", { class: "skip", href: "#main", onclick: (event) => skipTo(event, main) }, words("skip"));
  const root = element("div", { class: "frame" }, skip, top.root, rail.root, main, bar.root, noticeRegion(), speaking);
  let spoken = null;
  const update = (known) => {
    const needs = needsYou(known);
    top.update(known);
    rail.update(needs.length);
    bar.update(known.connection);
    document.title = title(needs.length);
    spoken = speak(speaking, known, needs, spoken);
  };
  return { root, main, update };
}

/** How much needs somebody comes first: a tab shows only the beginning. */
function title(needs) {
  const name = place().name in VIEWS ? place().name : "now";
  return `${needs ? `(${needs}) ` : ""}${words(`view.${name}`)} · kumihimo`;
}

function skipTo(event, main) {
  event.preventDefault();
  main.focus();
}

/** Say aloud what has come to need somebody since the last time. */
function speak(region, known, needs, before) {
  // What was there when the page was opened is seen, not said.
  if (!known.filled || known.handoffs === null) return null;
  const fresh = before ? needs.filter((need) => !before.has(need.key)) : [];
  if (fresh.length)
    setText(region, fresh.map((need) => `${words("now.needs_you")}: ${need.who} ${need.text}`).join(". "));
  return new Set(needs.map((need) => need.key));
}

function topLine(rebuild) {
  const numbers = liveNumbers();
  const projects = projectChoice();
  const theme = button("", () => showTheme(switchTheme()), {
    kind: "plain",
    label: words("switch.theme"),
    title: words("switch.theme"),
  });
  const showTheme = () => setText(theme, isDark() ? "☀" : "☾");
  const language = button(
    currentLanguage() === "en" ? "日本語" : "English",
    async () => {
      await switchLanguage();
      rebuild();
    },
    { kind: "plain", label: words("switch.language") },
  );
  const keys = button("?", showKeys, { kind: "plain", label: words("keys.title"), title: words("keys.title") });
  showTheme();
  const name = element(
    "a",
    { class: "name", href: "#/now" },
    element("span", { "aria-hidden": "true" }, "組 "),
    "kumihimo",
  );
  const root = element(
    "header",
    { class: "top" },
    name,
    projects.root,
    searchBox(),
    numbers.root,
    element("div", { class: "switches" }, theme, language, keys),
  );
  return { root, update: (known) => [numbers.update(known), projects.update(known.projects)] };
}

function liveNumbers() {
  const dot = element("span", { class: "live-dot", "aria-hidden": "true" }, "●");
  const live = element("span", { class: "live-word" });
  const running = element("span", { class: "number runs" });
  const used = element("span", { class: "number tokens optional" });
  const cost = element("span", { class: "number cost optional" });
  const root = element("div", { class: "live" }, dot, live, running, used, cost);
  const update = (known) => {
    const sums = today(known);
    setAttribute(root, "data-connection", known.connection.state);
    setText(live, words(`connection.${known.connection.state}`));
    setText(running, words("top.running", { count: sums.running }));
    setText(used, words("top.tokens", { tokens: tokens(sums.tokens) }));
    setAttribute(used, "title", words("top.today"));
    setText(cost, sums.cost === null ? "" : money(sums.cost));
    setAttribute(cost, "title", words("top.today"));
  };
  return { root, update };
}

/** Which project is shown. With one there is nothing to choose. */
function projectChoice() {
  const root = element("div", { class: "project" });
  let known = null;
  const update = (projects) => {
    const facts = JSON.stringify(projects.map((project) => [project.projectId, project.name]));
    if (facts === known) return;
    known = facts;
    root.replaceChildren(
      ...(projects.length > 1 ? [chooser(projects)] : projects.map((one) => element("span", {}, clean(one.name)))),
    );
  };
  return { root, update };
}

function chooser(projects) {
  const all = [["", words("project.all")], ...projects.map((one) => [one.projectId, clean(one.name)])];
  const chosen = projects.some((one) => one.projectId === chosenProject()) ? chosenProject() : "";
  const made = select(all, chosen);
  made.setAttribute("aria-label", words("project.choose"));
  made.addEventListener("change", () => {
    chooseProject(made.value);
    store.changed();
  });
  return made;
}

function navigation() {
  const count = element("span", { class: "count" });
  const links = Object.entries(VIEWS)
    .filter(([, view]) => view.key)
    .map(([name, view]) =>
      element(
        "a",
        { href: `#/${name}`, "data-name": name, title: `g ${view.key}` },
        words(`view.${name}`),
        name === "now" ? count : null,
      ),
    );
  const fresh = button(words("new"), startNew, { kind: "primary", title: "n" });
  const root = element("nav", { "aria-label": words("navigation") }, ...links, fresh);
  const update = (needs) => {
    setText(count, needs ? String(needs) : "");
    setHidden(count, !needs);
    const here = place().name;
    for (const link of links) setAttribute(link, "aria-current", link.dataset.name === here ? "page" : null);
  };
  return { root, update };
}

function connectionBar() {
  const text = element("span", {});
  const now = button(words("connection.retry_now"), reconnect);
  const root = element("div", { class: "bar", role: "status", hidden: true }, text, now);
  const update = ({ state, retryAt }) => {
    setHidden(root, state === "live" || state === "connecting");
    setHidden(now, state !== "away");
    if (state === "signed-out") setText(text, words("connection.signed_out_long"));
    if (state !== "away") return;
    tick(text, () => {
      if (store.connection.state !== "away") return;
      const seconds = Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
      setText(text, words("connection.away_long", { seconds }));
    });
  };
  return { root, update };
}
