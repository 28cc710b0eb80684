/** A plan as it is typed: stages of agents. What will be refused is found here before anything is asked of the server. */

import { words } from "./words.js";

/** @typedef {{role: string, prompt: string, folder: string}} Wish */
/** @typedef {{stages: Wish[][], worktree: boolean}} Plan */

/**
 * Read `role: prompt` lines; `---` begins the next stage; a line without a role goes on with the prompt above it.
 * @returns {Wish[][] | null} null where the text is no such plan
 */
export function readPlan(text, roles) {
  const known = new Set(roles.map((role) => role.name));
  const stages = [[]];
  for (const row of text.split(/\r?\n/)) {
    const named = /^\s*[-*]?\s*([\w.-]+)\s*:\s*(.*)$/.exec(row);
    if (/^\s*-{3,}\s*$/.test(row)) stages.push([]);
    else if (named && known.has(named[1])) stages.at(-1).push({ role: named[1], prompt: named[2], folder: "" });
    else if (stages.at(-1).length && row.trim()) stages.at(-1).at(-1).prompt += `\n${row}`;
    else if (row.trim()) return null;
  }
  const filled = stages.filter((stage) => stage.length);
  return filled.flat().length > 1 ? filled : null;
}

/**
 * What the server would refuse, in sentences, and what it would accept but should be known.
 * @param {Plan} plan
 * @param {{roles: any[], status: any}} known
 */
export function problems(plan, { roles, status }) {
  const found = [];
  const all = plan.stages.flat();
  if (!all.length) found.push(missing(words("plan.nothing")));
  if (plan.stages.length > 1 && plan.stages.some((stage) => !stage.length)) found.push(stop(words("plan.empty_stage")));
  for (const role of new Set(all.map((wish) => wish.role))) found.push(...ofRole(role, roles));
  const silent = all.filter((wish) => !wish.prompt.trim()).length;
  if (silent) found.push(missing(words("plan.no_prompt", { count: silent })));
  return [...found, ...ofSlots(plan, status), ...ofOverlap(plan)];
}

const stop = (text) => ({ refused: true, state: "failed", text });
const note = (text) => ({ refused: false, state: "needs", text });
// Not wrong, only not there yet.
const missing = (text) => ({ refused: true, state: "queued", text });

function ofRole(name, roles) {
  if (!name) return [missing(words("plan.no_role"))];
  const role = roles.find((one) => one.name === name);
  if (!role) {
    const near = nearest(
      name,
      roles.map((one) => one.name),
    );
    return [stop(near ? words("plan.unknown_role_near", { name, near }) : words("plan.unknown_role", { name }))];
  }
  if (role.available) return [];
  return [
    stop(words("plan.unavailable", { name, reason: role.healthCheck?.reason ?? words("plan.unavailable_unknown") })),
  ];
}

/** The largest stage counts: the slots are free again when a stage is over. */
function ofSlots(plan, status) {
  if (!status) return [];
  const free = status.slots - status.liveRuns;
  const most = Math.max(0, ...plan.stages.map((stage) => stage.length));
  return most > free ? [stop(words("plan.slots", { most, free, slots: status.slots }))] : [];
}

function ofOverlap(plan) {
  if (plan.worktree) return [];
  const shared = plan.stages.some((stage) => {
    const folders = stage.map((wish) => wish.folder.trim());
    return new Set(folders).size < folders.length;
  });
  return shared ? [note(words("plan.overlap"))] : [];
}

/** The known name that takes the fewest strokes to get to, if they are few. */
export function nearest(name, names) {
  const ranked = names
    .map((one) => [strokes(name.toLowerCase(), one.toLowerCase()), one])
    .sort((one, other) => one[0] - other[0]);
  return ranked.length && ranked[0][0] <= 3 ? ranked[0][1] : null;
}

function strokes(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at];
    for (let place = 1; place <= other.length; place += 1) {
      next.push(
        Math.min(next[place - 1] + 1, row[place] + 1, row[place - 1] + (one[at - 1] === other[place - 1] ? 0 : 1)),
      );
    }
    row = next;
  }
  return row[other.length];
}
