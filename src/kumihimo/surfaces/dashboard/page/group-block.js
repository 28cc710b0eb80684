/** A group at work: its stages one below the other, its runs in them, and how far it is. */

import { elapsed, idButton } from "./badge.js";
import { element, keep, setAttribute, setHidden, setText } from "./element.js";
import { runRow } from "./run-row.js";
import { toHistory } from "./router.js";
import { isLive } from "./states.js";
import { line } from "./text.js";
import { words } from "./words.js";

// A list longer than this is looked at in the history, which draws only what is seen.
const MOST_ROWS = 200;

/** @param {{group: any, runs: any[]}} first */
export function groupBlock(first) {
  const id = first.group.groupId;
  let begun = Date.now();
  const title = element("span", { class: "group-title" });
  const stage = element("span", { class: "group-stage" });
  const done = element("span", { class: "progress-done" });
  const progress = element(
    "span",
    { class: "progress", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100" },
    done,
  );
  const time = elapsed();
  const head = element(
    "summary",
    {},
    element("span", { class: "fold", "aria-hidden": "true" }, "▾"),
    title,
    idButton(id),
    stage,
    progress,
    time.root,
  );
  const stages = element("div", { class: "stages" });
  const rest = element("a", { class: "more", href: toHistory({ group: id }) });
  const root = element("details", { class: "group", open: true }, head, stages, rest);
  const update = ({ group, runs }) => {
    begun = Date.parse(earliest(runs) ?? group.createdAt);
    setText(title, line(group.description ?? id, 160));
    setText(stage, placeInPlan(group, runs));
    drawProgress(progress, done, runs);
    time.update(earliest(runs) ?? group.createdAt, null);
    keep(
      stages,
      byStage(runs.slice(0, MOST_ROWS)),
      (one) => String(one.index),
      () => stageBlock(() => begun),
    );
    setHidden(rest, runs.length <= MOST_ROWS);
    setText(rest, words("now.more_runs", { count: runs.length - MOST_ROWS }));
  };
  return { root, update };
}

const earliest = (runs) =>
  runs
    .map((run) => run.startedAt)
    .filter(Boolean)
    .sort()[0];

function drawProgress(progress, bar, runs) {
  const over = runs.filter((run) => !isLive(run)).length;
  const part = runs.length ? Math.round((over / runs.length) * 100) : 0;
  bar.style.width = `${part}%`;
  setAttribute(progress, "aria-valuenow", part);
  setAttribute(progress, "aria-label", words("now.progress", { done: over, all: runs.length }));
  setAttribute(progress, "title", words("now.progress", { done: over, all: runs.length }));
}

/** The stages that there are, told by the runs: a plan has them all from the beginning. */
function byStage(runs) {
  const stages = new Map();
  for (const run of runs) {
    const index = run.stageIndex ?? 0;
    if (!stages.has(index))
      stages.set(index, { index, staged: run.stageIndex !== null && run.stageIndex !== undefined, runs: [] });
    stages.get(index).runs.push(run);
  }
  for (const stage of stages.values()) stage.runs.sort((one, other) => (one.queuedAt < other.queuedAt ? -1 : 1));
  return [...stages.values()].sort((one, other) => one.index - other.index);
}

function placeInPlan(group, runs) {
  const indexes = runs.map((run) => run.stageIndex).filter((index) => index !== null && index !== undefined);
  const over = runs.filter((run) => !isLive(run)).length;
  if (!indexes.length) return words("now.progress", { done: over, all: runs.length });
  const live = runs.filter(isLive).map((run) => run.stageIndex);
  const current = group.currentStageIndex ?? Math.min(...live);
  return words("now.stage_of", { stage: current + 1, all: group.totalStages ?? Math.max(...indexes) + 1 });
}

function stageBlock(begin) {
  const label = element("span", { class: "stage-label" });
  const rows = element("ul", { class: "rows" });
  const root = element("div", { class: "stage" }, label, rows);
  const update = (stage) => {
    setText(label, stage.staged ? words("now.stage", { stage: stage.index + 1 }) : "");
    keep(
      rows,
      stage.runs,
      (run) => run.agentId,
      (run) => runRow(run, begin),
    );
  };
  return { root, update };
}
