/** Operations of the server: POST with a JSON object. Refusals come in the language of the page. */

import { currentLanguage } from "./words.js";

let onSignedOut = () => {};

export function whenSignedOut(tell) {
  onSignedOut = tell;
}

/** A refusal, with the sentence that says what to do. */
export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * `await perform("task/update", {task: 3, status: "done"}, {project: "shop"})`.
 * @param {string} operation
 * @param {object} [facts]
 * @param {{project?: string|null, signal?: AbortSignal}} [options]
 */
export async function perform(operation, facts = {}, { project = null, signal } = {}) {
  const where = project ? `?project=${encodeURIComponent(project)}` : "";
  const response = await fetch(`/api/v1/${operation}${where}`, {
    method: "POST",
    credentials: "same-origin",
    headers: { "content-type": "application/json", "accept-language": currentLanguage() },
    body: JSON.stringify(facts),
    signal,
  }).catch(unreachable);
  if (response.status === 401) onSignedOut();
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    const error = answer.error ?? {};
    throw new Refused(
      response.status,
      error.code ?? "Unknown",
      error.message ?? `${response.status} ${response.statusText}`,
    );
  }
  return answer;
}

function unreachable(error) {
  if (error.name === "AbortError") throw error;
  throw new Refused(0, "Unreachable", "");
}
