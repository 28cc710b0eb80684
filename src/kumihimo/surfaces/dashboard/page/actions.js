/** What a person can do to runs and tasks, with the question first where something ends by it. */

import { perform } from "./api.js";
import { confirmed } from "./dialog.js";
import { shortId } from "./format.js";
import { attempt, tell, tellError } from "./notices.js";
import { go, toRun } from "./router.js";
import { isOpen } from "./states.js";
import { store } from "./store.js";
import { line } from "./text.js";
import { words } from "./words.js";

export async function stopRun(run) {
  if (!isOpen(run)) return;
  const name = `${line(run.role, 40)} ${shortId(run.agentId)}`;
  if (!(await confirmed(words("stop.question", { name }), words("stop")))) return;
  const answer = await attempt(() => perform("run/stop", { run: run.agentId }));
  if (answer?.survivors?.length)
    tellError(
      Object.assign(new Error(words("stop.survivors", { pids: answer.survivors.join(", ") })), { status: 200 }),
    );
  else if (answer) tell(words("stop.done", { name }));
}

export async function retryRun(run) {
  if (isOpen(run)) return;
  const made = await attempt(() => perform("run/retry", { run: run.agentId }));
  if (made) go(toRun(made.agentId));
}

export async function continueRun(run, prompt) {
  const made = await attempt(() => perform("run/continue", { run: run.agentId, prompt }));
  if (made) go(toRun(made.agentId));
  return made;
}

/** The answer is the task as it is now: it need not wait for its event to be shown. */
async function changeTask(task, operation, facts) {
  const answer = await perform(operation, { task: task.taskId, ...facts }, { project: task.projectId });
  store.apply({ type: "task:updated", data: answer });
  return answer;
}

/** Refused because its checks have not passed, a person may still decide that it is done. */
export async function moveTask(task, status) {
  if (task.status === status) return;
  try {
    await changeTask(task, "task/update", { status });
  } catch (error) {
    if (status !== "done" || error.code !== "TaskNotReady") return tellError(error);
    const question = `${error.message} ${words("task.force_question")}`;
    if (await confirmed(question, words("task.force")))
      await attempt(() => changeTask(task, "task/update", { status, force: true }));
  }
}

export const assignTask = (task, agent) => attempt(() => changeTask(task, "task/assign", { agent }));
export const editTask = (task, facts) => attempt(() => changeTask(task, "task/update", facts));

export async function startWorker(task) {
  const begun = await attempt(() => perform("worker/run", { task: task.taskId }, { project: task.projectId }));
  if (begun) tell(words("worker.started", { number: task.id }));
  return begun;
}

export async function mergeTask(task) {
  const answer = await attempt(() => perform("merge/run", { work: [task.taskId] }, { project: task.projectId }));
  const merge = answer?.merges?.[0];
  if (!merge) return;
  if (merge.status === "merged") tell(words("merge.done", { number: task.id }));
  else
    tellError(Object.assign(new Error(merge.reason ?? words("merge.refused", { number: task.id })), { status: 200 }));
}

export async function acceptHandoff(handoff, agent) {
  const taken = await attempt(() => perform("handoff/accept", { handoff: handoff.id, agent }));
  if (taken) tell(words("handoff.accepted"));
}
