/** The states of runs and tasks: a colour, a shape and a word, the same everywhere. */

import { store } from "./store.js";
import { words } from "./words.js";

const SHAPES = {
  queued: "○",
  running: "▶",
  done: "✓",
  failed: "✕",
  needs: "⚠",
  parked: "⏸",
  lost: "?",
  cancelled: "–",
};

/** The state that a run is shown in: what it reported counts as that. */
export function stateOf(run) {
  if (run.status === "resultReported") return reported(run);
  if (parkedUntil(run)) return "parked";
  const known = { queued: "queued", running: "running", completed: "done", cancelled: "cancelled", lost: "lost" };
  return known[run.status] ?? "failed";
}

/** Until when it waits because its vendor said so; null where it does not. */
export const parkedUntil = (run) => (run.status === "queued" ? (store.status?.parked?.[run.client] ?? null) : null);

function reported(run) {
  const said = run.result?.status;
  if (said === undefined || said === "success") return "done";
  return said === "cancelled" ? "cancelled" : "failed";
}

export function stateOfTask(task) {
  const known = { backlog: "queued", todo: "queued", in_progress: "running", blocked: "needs", done: "done" };
  return known[task.status] ?? "cancelled";
}

export const isLive = (run) => run.status === "queued" || run.status === "running";

/** Its process has not ended, though it may have reported. */
export const isOpen = (run) => isLive(run) || (run.status === "resultReported" && !run.endedAt);

export const shapeOf = (state) => SHAPES[state];

/** The state in words, with the reason where it is known. */
export function inWords(run) {
  const state = stateOf(run);
  if (state === "failed" && run.failureReason) return words(`reason.${run.failureReason}`);
  if (run.status === "timedOut") return words("reason.timed_out");
  if (run.status === "resultReported") return words(`reported.${run.result?.status ?? "success"}`);
  return words(`state.${state}`);
}
