/** A run in the history: one line of fixed height. */

import { elapsed, idButton, stateBadge } from "./badge.js";
import { element, setAttribute, setText } from "./element.js";
import { moment, shortMoment } from "./format.js";
import { sentence, usage } from "./run-row.js";
import { toRun } from "./router.js";
import { inWords, stateOf } from "./states.js";
import { store } from "./store.js";
import { line } from "./text.js";

export const ROW_HEIGHT = 32;

export function historyRow(first) {
  const badge = stateBadge({ quiet: true });
  const who = element("span", { class: "who" });
  const link = element(
    "a",
    { class: "open", href: toRun(first.agentId), "data-row": "", "data-run": first.agentId },
    badge.root,
    who,
  );
  const when = element("span", { class: "number muted when" });
  const group = element("span", { class: "muted in-group" });
  const said = element("span", { class: "said" });
  const used = element("span", { class: "number used" });
  const time = elapsed();
  const root = element(
    "li",
    { class: "history-row" },
    when,
    link,
    idButton(first.agentId),
    group,
    said,
    used,
    time.root,
  );
  const update = (run) => {
    badge.update(stateOf(run), inWords(run));
    setText(who, line(run.role, 60));
    const begun = run.startedAt ?? run.queuedAt;
    setText(when, shortMoment(begun));
    setAttribute(when, "title", moment(begun));
    setText(group, run.groupId ? line(store.groups.get(run.groupId)?.description ?? "", 60) : "");
    setText(said, sentence(run));
    setText(used, usage(run));
    if (run.status === "running" || run.endedAt) time.update(run.startedAt, run.endedAt);
    else time.update(run.startedAt, null, run.startedAt ? run.elapsed_ms : null);
  };
  return { root, update };
}
