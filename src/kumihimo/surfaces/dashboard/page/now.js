/** Now: does anything need me, what is everyone doing, what came of it. */

import { commandButton } from "./badge.js";
import { element, keep, setHidden, setText } from "./element.js";
import { duration } from "./format.js";
import { groupBlock } from "./group-block.js";
import { ownKeys } from "./keys.js";
import { needRow, pressOn } from "./need-row.js";
import { needsYou } from "./needs.js";
import { runRow } from "./run-row.js";
import { toHistory } from "./router.js";
import { isOpen } from "./states.js";
import { store } from "./store.js";
import { doneToday, shownRuns } from "./today.js";
import { words } from "./words.js";

const MOST_DONE = 40;

export function open(main) {
  const needs = section("now.needs_you", "needs");
  const working = section("now.working", "working");
  const alone = element("ul", { class: "rows" });
  const groups = element("div", { class: "groups" });
  working.body.append(groups, alone);
  const done = section("now.done_today", "done");
  const sums = element("p", { class: "sums" });
  const latest = element("ul", { class: "rows" });
  done.head.append(sums, element("a", { class: "more", href: toHistory() }, words("now.all_in_history")));
  done.body.append(latest);
  const needRows = element("ul", { class: "rows" });
  needs.body.append(needRows);
  const empty = invitation();
  main.append(element("h1", { class: "unseen" }, words("view.now")), needs.root, working.root, empty, done.root);
  const forget = ownKeys({ x: () => pressOn("dismiss") });
  const update = () => {
    const found = needsYou(store);
    needs.count(found.length);
    setHidden(needs.root, !found.length);
    keep(needRows, found, (need) => need.key, needRow);
    drawWorking(working, groups, alone, empty);
    drawDone(done, sums, latest);
  };
  return { update, close: forget };
}

function section(title, name) {
  const count = element("span", { class: "count-of" });
  const head = element("header", {}, element("h2", {}, words(title), count));
  const body = element("div", { class: "section-body" });
  const root = element("section", { class: `now-${name}` }, head, body);
  return { root, head, body, count: (number) => setText(count, number ? ` (${number})` : "") };
}

function drawWorking(section, groups, alone, empty) {
  const runs = shownRuns(store);
  const open = runs.filter(isOpen);
  const busy = new Set(open.map((run) => run.groupId).filter(Boolean));
  const members = new Map([...busy].map((id) => [id, []]));
  for (const run of runs) members.get(run.groupId)?.push(run);
  const shown = [...members].map(([id, own]) => ({ group: store.groups.get(id) ?? { groupId: id }, runs: own }));
  shown.sort((one, other) => ((one.group.createdAt ?? "") < (other.group.createdAt ?? "") ? -1 : 1));
  keep(groups, shown, (one) => one.group.groupId, groupBlock);
  const single = open.filter((run) => !run.groupId).sort((one, other) => (one.queuedAt < other.queuedAt ? -1 : 1));
  keep(
    alone,
    single,
    (run) => run.agentId,
    (run) => runRow(run, () => Date.parse(run.startedAt ?? run.queuedAt)),
  );
  section.count(open.length);
  setHidden(section.root, !open.length);
  setHidden(empty, !store.filled || open.length > 0);
}

function drawDone(section, sums, latest) {
  const { ended, good, bad, median, more } = doneToday(store);
  section.count(more ? `${ended.length}+` : ended.length);
  setHidden(section.root, !ended.length);
  setText(sums, words("now.sums", { good, bad, median: duration(median ?? 0) }));
  keep(
    latest,
    ended.slice(0, MOST_DONE),
    (run) => run.agentId,
    (run) => runRow(run, () => Date.parse(run.startedAt ?? run.endedAt)),
  );
}

/** Nothing runs: how to begin. */
function invitation() {
  return element(
    "section",
    { class: "invitation" },
    element("p", {}, words("now.empty")),
    element("p", {}, words("now.empty_connect"), " ", commandButton("kumi setup claude")),
    element("p", {}, words("now.empty_start")),
  );
}
