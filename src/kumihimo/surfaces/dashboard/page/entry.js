/** One entry of a conversation: words, a tool call that opens, an edit as a diff. */

import { diffBlock } from "./diff.js";
import { element, setAttribute, setText } from "./element.js";
import { exactDuration } from "./format.js";
import { clean, line, within } from "./text.js";
import { words } from "./words.js";

const LONGEST = 20_000;
const TELLING = ["file_path", "path", "command", "pattern", "query", "url", "summary", "description", "prompt"];

/** @returns {{root: HTMLElement, answer?: (entry: any) => void}} */
export function entryView(entry, base) {
  const make = KINDS[entry.kind] ?? KINDS.plain;
  const view = make(entry, base);
  view.root.dataset.position = entry.position;
  return view;
}

const KINDS = {
  said: (entry) => ({ root: element("p", { class: "entry said" }, clean(entry.text)) }),
  thought: (entry) => ({
    root: element(
      "details",
      { class: "entry thought" },
      element("summary", {}, words("entry.thought"), " ", element("span", { class: "muted" }, line(entry.text, 120))),
      element("p", {}, clean(entry.text)),
    ),
  }),
  tool: toolView,
  // An answer whose call was never told of.
  answer: (entry, base) => toolView({ ...entry, tool: entry.tool ?? words("entry.answer") }, base),
  file: fileView,
  warning: (entry) => note(entry, "needs", "⚠"),
  finished: (entry) => note(entry, "done", "✓"),
  failed: (entry) => note(entry, "failed", "✕"),
  plain: (entry) => ({ root: element("pre", { class: "entry plain" }, clean(entry.text)) }),
};

function note(entry, state, shape) {
  const text = clean(entry.text) || words(`entry.${entry.kind}`);
  return {
    root: element(
      "p",
      { class: `entry note state-${state}` },
      element("span", { class: "shape", "aria-hidden": "true" }, shape),
      " ",
      text,
    ),
  };
}

/** A file that was touched. Its diff, where there is one, stands at the call that touched it. */
function fileView(entry, base) {
  const changes = entry.changes ?? [];
  const touched = words(entry.ok ? "run.created" : "run.edited");
  const told = element(
    "p",
    { class: "file muted" },
    `${touched} `,
    element("span", { class: "path" }, within(base, entry.text)),
  );
  return { root: element("div", { class: "entry" }, told, ...changes.map((change) => diffBlock(change, base))) };
}

function toolView(entry, base) {
  const shape = element("span", { class: "shape", "aria-hidden": "true" });
  const outcome = element("span", { class: "unseen" });
  // How long it took, where the agent's program says when it was called and answered.
  const took = element("span", { class: "muted took" });
  const summary = element(
    "summary",
    {},
    shape,
    outcome,
    element("span", { class: "tool-name" }, clean(entry.tool)),
    element("span", { class: "muted brief" }, within(base, brief(entry.arguments))),
    took,
  );
  const body = element("div", { class: "tool-body" });
  const details = element("details", { class: "tool" }, summary, body);
  const diffs = (entry.changes ?? []).map((change) => diffBlock(change, base));
  const root = element("div", { class: "entry" }, details, ...diffs);
  let result = entry;
  const fill = () => body.replaceChildren(...parts(entry, result));
  const answer = (told) => {
    result = { ...result, ...told, arguments: entry.arguments };
    mark(root, shape, outcome, result);
    if (entry.at && told.at) setText(took, exactDuration(new Date(told.at) - new Date(entry.at)));
    for (const change of told.changes ?? []) root.append(diffBlock(change, base));
    if (details.open) fill();
  };
  // What nobody looks at is not put on the page.
  details.addEventListener("toggle", fill, { once: false });
  mark(root, shape, outcome, result);
  return { root, answer };
}

function mark(root, shape, outcome, { ok }) {
  const state = ok === undefined || ok === null ? "running" : ok ? "done" : "failed";
  setText(shape, { running: "·", done: "✓", failed: "✕" }[state]);
  setAttribute(shape, "class", `shape state-${state}`);
  setText(outcome, words(`tool.${state}`));
  root.dataset.outcome = state;
}

function parts(entry, result) {
  const found = [];
  if (entry.arguments !== undefined && entry.arguments !== null)
    found.push(titled("entry.arguments", readable(entry.arguments)));
  const answer = result.result ?? (result.kind === "answer" ? result.text : null);
  if (answer !== undefined && answer !== null && answer !== "") found.push(titled("entry.result", readable(answer)));
  return found;
}

function titled(key, text) {
  const shown =
    text.length > LONGEST
      ? `${text.slice(0, LONGEST)}\n… ${words("entry.cut", { count: text.length - LONGEST })}`
      : text;
  return element("div", {}, element("h4", {}, words(key)), element("pre", {}, shown));
}

const readable = (value) => clean(typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** Arguments that are told as the text of an object. */
function parsed(given) {
  if (typeof given !== "string" || !given.startsWith("{")) return given;
  try {
    return JSON.parse(given);
  } catch {
    // Cut short, or only looks like JSON: shown as it is.
    return given;
  }
}

/** What a call is about, in a few words. */
function brief(told) {
  const given = parsed(told);
  if (given === null || given === undefined) return "";
  if (typeof given !== "object") return line(given, 160);
  const telling = TELLING.find((name) => typeof given[name] === "string");
  return line(telling ? given[telling] : JSON.stringify(given), 160);
}
