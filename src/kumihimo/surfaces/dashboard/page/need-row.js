/** One thing that needs somebody, with what can be done about it right there. */

import { button, elapsed, stateBadge } from "./badge.js";
import { dismiss } from "./choices.js";
import { element, setAttribute, setText } from "./element.js";
import { focusedRow } from "./keys.js";
import { attempt } from "./notices.js";
import { toRun, toTask } from "./router.js";
import { store } from "./store.js";
import { words } from "./words.js";

const STATES = { blocked: "needs", failed: "failed", lost: "lost", handoff: "needs", merge: "needs" };

/** @param {import("./needs.js").Need} first */
export function needRow(first) {
  const badge = stateBadge({ quiet: true });
  const who = element("span", { class: "who" });
  const text = element("span", { class: "said" });
  const since = elapsed();
  const link = element(
    "a",
    { class: "open", href: placeOf(first), "data-row": "", "data-run": first.run?.agentId ?? null },
    badge.root,
    who,
  );
  const acts = element("span", { class: "acts" }, ...actions(first));
  const root = element("li", { class: `need-row need-${first.kind}` }, link, text, since.root, acts);
  root.dataset.key = first.key;
  const update = (need) => {
    badge.update(STATES[need.kind], words(`need.${need.kind}`));
    setText(who, need.who);
    setText(text, need.text);
    setAttribute(text, "title", need.text);
    since.update(need.since, null);
  };
  return { root, update };
}

/** Press a button of the row that has the focus, by its name. */
export function pressOn(name) {
  focusedRow()?.closest("li")?.querySelector(`[data-act="${name}"]`)?.click();
}

function placeOf(need) {
  if (need.kind === "failed" || need.kind === "lost") return toRun(need.run.agentId);
  return toTask(need.task?.taskId ?? need.handoff.taskId);
}

function actions(need) {
  const { run, task, handoff } = need;
  const own = {
    blocked: () => [run && logLink(run), act("retry", "startWorker", task)],
    failed: () => [act("retry", "retryRun", run)],
    lost: () => [act("retry", "retryRun", run)],
    handoff: () => [pressed("accept", () => take(handoff))],
    merge: () => [run && logLink(run), act("merge", "mergeTask", task)],
  };
  return [...own[need.kind]().filter(Boolean), pressed("dismiss", () => put(need), "×")];
}

/** A button for something that is done to a run or a task. */
const act = (name, action, subject) => pressed(name, () => perform(action, subject));

const perform = (action, ...about) => attempt(async () => (await import("./actions.js"))[action](...about));

function pressed(name, doing, shown = null) {
  const made = button(shown ?? words(name), doing, {
    label: words(`${name}.label`),
    title: words(`${name}.label`),
    kind: shown ? "plain" : "",
  });
  made.dataset.act = name;
  return made;
}

const logLink = (run) => element("a", { class: "button", href: toRun(run.agentId) }, words("log"));

function put(need) {
  dismiss(need.key);
  store.changed();
}

/** By whom it is meant for; where it is for anybody, one is asked who. */
function take(handoff) {
  if (handoff.toAgent) return perform("acceptHandoff", handoff, handoff.toAgent);
  return attempt(async () => (await import("./handoff-dialog.js")).chooseTaker(handoff));
}
