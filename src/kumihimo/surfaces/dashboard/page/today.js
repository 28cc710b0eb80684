/** Sums over the runs of today. */

import { chosenProject } from "./choices.js";
import { median } from "./format.js";
import { isOpen, stateOf } from "./states.js";

/** The project that a run works in: the one whose folder is nearest above its own. */
function projectOf(known, run) {
  const folder = `${run.workingDirectory ?? ""}/`;
  const above = known.projects.filter((project) => folder.startsWith(`${project.workingDirectory}/`));
  above.sort((one, other) => other.workingDirectory.length - one.workingDirectory.length);
  return above[0]?.projectId ?? null;
}

/** The runs that a person wants to see: those of the chosen project, and what belongs to none. */
export function shownRuns(known) {
  const runs = [...known.runs.values()];
  const chosen = known.projects.length > 1 ? chosenProject() : null;
  return chosen ? runs.filter((run) => [chosen, null].includes(projectOf(known, run))) : runs;
}

export const shownTasks = (known) =>
  [...known.tasks.values()].filter((task) => !chosenProject() || task.projectId === chosenProject());

function midnight() {
  const now = new Date();
  return new Date(now.getFullYear(), now.getMonth(), now.getDate()).toISOString();
}

/** `cost` is null where no CLI has stated any. */
export function today(known) {
  const sums = { running: 0, tokens: 0, cost: null };
  const since = midnight();
  for (const run of shownRuns(known)) {
    if (run.status === "running") sums.running += 1;
    if ((run.startedAt ?? run.queuedAt ?? "") < since && !isOpen(run)) continue;
    const usage = run.usage ?? {};
    sums.tokens += (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
    if (usage.costUsd !== null && usage.costUsd !== undefined) sums.cost = (sums.cost ?? 0) + usage.costUsd;
  }
  return sums;
}

/** The runs that ended today, newest first, how many went well, and how long one took in the middle; `more` may have ended. */
export function doneToday(known) {
  const since = midnight();
  const ended = shownRuns(known).filter((run) => run.endedAt && run.endedAt >= since);
  const more = known.cut && [...known.runs.values()].every((run) => !run.endedAt || run.endedAt >= since);
  ended.sort((one, other) => (one.endedAt < other.endedAt ? 1 : -1));
  const good = ended.filter((run) => stateOf(run) === "done").length;
  const stopped = ended.filter((run) => stateOf(run) === "cancelled").length;
  const times = ended.filter((run) => run.startedAt).map((run) => Date.parse(run.endedAt) - Date.parse(run.startedAt));
  return { ended, good, bad: ended.length - good - stopped, median: median(times), more };
}
