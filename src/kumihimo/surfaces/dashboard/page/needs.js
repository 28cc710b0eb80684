/** What needs somebody: blocked tasks, runs that went wrong, handoffs that nobody has taken, work that waits for its merge. */

import { chosenProject, isDismissed } from "./choices.js";
import { shortId } from "./format.js";
import { stateOf } from "./states.js";
import { line } from "./text.js";
import { shownRuns, shownTasks } from "./today.js";
import { words } from "./words.js";

const DAY = 24 * 3600 * 1000;

/** @typedef {{key: string, kind: string, who: string, text: string, since: string, run?: any, task?: any, handoff?: any}} Need */

/** @returns {Need[]} oldest first, so that what is new comes below */
export function needsYou(known) {
  const runs = shownRuns(known);
  const latest = latestRuns(known);
  const newest = newestSessions(known);
  const tasks = shownTasks(known);
  const needs = [
    ...tasks.filter((task) => task.status === "blocked").map((task) => blocked(task, latest.get(task.taskId))),
    ...failures(known, runs),
    ...(known.handoffs ?? [])
      .filter((handoff) => !chosenProject() || handoff.projectId === chosenProject())
      .map(handedOver),
    ...tasks.filter((task) => waitsForMerge(task, known, newest)).map((task) => toMerge(task, latest.get(task.taskId))),
  ];
  return needs.filter((need) => !isDismissed(need.key)).sort((one, other) => (one.since < other.since ? -1 : 1));
}

/** The task that a run works on, by its id. */
export const taskOf = (known, run) => run.taskId ?? known.sessions.get(run.agentId)?.taskId ?? null;

/** The newest run of each task. */
export function latestRuns(known) {
  const latest = new Map();
  for (const run of known.runs.values()) {
    const task = taskOf(known, run);
    if (!task) continue;
    const before = latest.get(task);
    if (!before || (before.queuedAt ?? "") < (run.queuedAt ?? "")) latest.set(task, run);
  }
  return latest;
}

/** The newest work on each task. */
function newestSessions(known) {
  const newest = new Map();
  for (const session of known.sessions.values()) {
    const before = newest.get(session.taskId);
    if (!before || before.id < session.id) newest.set(session.taskId, session);
  }
  return newest;
}

/** Its latest work ended well in a worktree, and nobody has merged it. */
export function waitsForMerge(task, known, newest = newestSessions(known)) {
  const session = task.status === "in_progress" ? newest.get(task.taskId) : null;
  return Boolean(session?.worktree) && session.status === "completed" && session.dodResult !== "merged";
}

function blocked(task, run) {
  const text = `${line(task.title, 80)}: ${line(task.reason || words("now.blocked"), 240)}`;
  return {
    key: `blocked:${task.taskId}:${task.updatedAt}`,
    kind: "blocked",
    who: taskName(task),
    text,
    since: task.updatedAt,
    task,
    run,
  };
}

function toMerge(task, run) {
  const text = words("now.waits_for_merge", { title: line(task.title, 120) });
  return {
    key: `merge:${task.taskId}:${task.updatedAt}`,
    kind: "merge",
    who: taskName(task),
    text,
    since: task.updatedAt,
    task,
    run,
  };
}

function handedOver(handoff) {
  const to = handoff.toAgent ?? words("now.anybody");
  const who = `${line(handoff.fromAgent, 40)} → ${line(to, 40)}`;
  return {
    key: `handoff:${handoff.id}`,
    kind: "handoff",
    who,
    text: line(handoff.summary),
    since: handoff.createdAt,
    handoff,
  };
}

function failures(known, runs) {
  const after = new Date(Date.now() - DAY).toISOString();
  const goneOn = new Set(runs.map((run) => run.continues).filter(Boolean));
  return runs
    .filter((run) => ["failed", "lost"].includes(stateOf(run)) && (run.endedAt ?? run.startedAt ?? "") > after)
    .filter((run) => !goneOn.has(run.agentId) && !ofSettledTask(known, run))
    .map(failure);
}

/** What became of a task is told by the task. */
function ofSettledTask(known, run) {
  const task = known.tasks.get(taskOf(known, run));
  return task !== undefined && task.status !== "in_progress" && task.status !== "todo";
}

function failure(run) {
  const why = run.result?.errorMessage ?? run.error ?? run.result?.summary ?? run.lastAssistantMessage ?? "";
  const reason = stateOf(run) === "lost" ? words("reason.lost") : words(`reason.${run.failureReason ?? "reported"}`);
  const text = why ? `${reason}: ${line(why, 240)}` : reason;
  return {
    key: `run:${run.agentId}`,
    kind: stateOf(run),
    who: `${line(run.role, 60)} · ${shortId(run.agentId)}`,
    text,
    since: run.endedAt ?? run.startedAt,
    run,
  };
}

const taskName = (task) => `${task.assignee ? `${line(task.assignee, 40)} · ` : ""}#${task.id}`;
