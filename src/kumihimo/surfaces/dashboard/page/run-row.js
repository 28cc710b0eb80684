/** One run as one line: state, who, its place in time, what it does, what it has used, how long. */

import { elapsed, idButton, stateBadge } from "./badge.js";
import { still, tick } from "./clock.js";
import { element, setAttribute, setHidden, setText } from "./element.js";
import { shortMoment, tokens } from "./format.js";
import { toRun } from "./router.js";
import { inWords, isLive, parkedUntil, stateOf } from "./states.js";
import { line } from "./text.js";
import { words } from "./words.js";

/** @param {any} first the run @param {() => number} begin when the time that is drawn begins, in ms */
export function runRow(first, begin) {
  const badge = stateBadge({ quiet: true });
  const who = element("span", { class: "who" });
  const link = element(
    "a",
    { class: "open", href: toRun(first.agentId), "data-row": "", "data-run": first.agentId },
    badge.root,
    who,
  );
  const track = timeTrack(begin);
  const used = element("span", { class: "number used" });
  const said = element("span", { class: "said" });
  const time = elapsed();
  const root = element("li", { class: "run-row" }, link, idButton(first.agentId), track.root, used, said, time.root);
  const update = (run) => {
    badge.update(stateOf(run), inWords(run));
    setText(who, line(run.role, 60));
    setText(used, usage(run));
    setText(said, sentence(run));
    setAttribute(said, "title", sentence(run));
    track.update(run);
    time.update(run.startedAt, run.endedAt);
  };
  return { root, update };
}

/** Tools and tokens so far. */
export function usage(run) {
  if (run.status === "queued") return "";
  const used = (run.usage?.inputTokens ?? 0) + (run.usage?.outputTokens ?? 0);
  const tools = run.toolCallCount ?? 0;
  // Some CLIs tell what they have used only at their end.
  return used ? words("run.used", { tools, tokens: tokens(used) }) : words("run.tools_used", { tools });
}

/** What it says, or what came of it. */
export function sentence(run) {
  if (parkedUntil(run)) return words("run.parked_until", { time: shortMoment(parkedUntil(run)) });
  if (run.status === "queued") return words("state.queued");
  if (!isLive(run) && run.result?.summary) return line(run.result.summary);
  if (!isLive(run) && run.error) return `${inWords(run)}: ${line(run.error, 200)}`;
  if (run.warning) return `⚠ ${line(run.warning, 200)}`;
  return run.lastAssistantMessage ? `“${line(run.lastAssistantMessage, 200)}”` : "";
}

/** From when to when it ran, within the time of its group. It grows with the clock and moves nothing else. */
function timeTrack(begin) {
  const bar = element("span", { class: "time-bar" });
  const root = element("span", { class: "time-track", "aria-hidden": "true" }, bar);
  let shown = null;
  const draw = () => {
    if (!shown?.startedAt) return;
    const now = Date.now();
    const from = begin();
    const whole = Math.max(1000, (shown.until ?? now) - from);
    const start = Date.parse(shown.startedAt) - from;
    const end = (shown.endedAt ? Date.parse(shown.endedAt) : now) - from;
    bar.style.left = `${percent(start / whole)}%`;
    bar.style.width = `${Math.max(1, percent(end / whole) - percent(start / whole))}%`;
  };
  const update = (run) => {
    shown = run;
    setAttribute(bar, "class", `time-bar state-${stateOf(run)}`);
    setHidden(bar, !run.startedAt);
    // Its group goes on even where the run has ended, and the whole gets longer.
    if (run.startedAt) tick(root, draw);
    else still(root);
  };
  return { root, update };
}

const percent = (part) => Math.round(Math.min(1, Math.max(0, part)) * 1000) / 10;
