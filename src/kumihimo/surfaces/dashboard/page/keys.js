/** The keyboard. Nothing is taken from somebody who is typing. */

import { attempt } from "./notices.js";
import { go, place } from "./router.js";
import { store } from "./store.js";
import { VIEWS } from "./views.js";

const PATIENCE = 1500;

export const isDialogOpen = () => document.querySelector("dialog[open]") !== null;

/** The second keys that are waited for. @type {{keys: Record<string, () => void>, until: number} | null} */
let begun = null;
/** Keys of the view that is open. @type {Record<string, (event: KeyboardEvent) => void>} */
let own = {};

/** The keys of a view, until it is closed. A value may be an object of second keys. */
export function ownKeys(keys) {
  own = keys;
  return () => {
    if (own === keys) own = {};
  };
}

const KEYS = {
  "/": () => document.getElementById("search").focus(),
  "?": () => showKeys(),
  n: () => startNew(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  s: () => withRun("stopRun"),
  r: () => withRun("retryRun"),
};

export function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isDialogOpen()) return;
    if (isTyping(event.target)) return;
    const act = meant(event.key);
    if (!act) return;
    event.preventDefault();
    act(event);
  });
}

function meant(key) {
  const second = begun && Date.now() < begun.until ? begun.keys[key] : null;
  begun = null;
  if (second) return second;
  if (key === "g") return () => (begun = { keys: goKeys(), until: Date.now() + PATIENCE });
  const first = own[key] ?? KEYS[key];
  if (typeof first === "object") return () => (begun = { keys: first, until: Date.now() + PATIENCE });
  return first;
}

function goKeys() {
  return Object.fromEntries(
    Object.entries(VIEWS)
      .filter(([, view]) => view.key)
      .map(([name, view]) => [view.key, () => go(`#/${name}`)]),
  );
}

function isTyping(target) {
  return target.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]") ?? false;
}

/** The rows that can be moved through, in the order in which they are seen. */
const rows = () => [...document.querySelectorAll("main [data-row]")].filter((row) => row.offsetParent !== null);

export function moveRow(by) {
  const all = rows();
  const here = all.indexOf(document.activeElement?.closest("[data-row]"));
  const next = all[here < 0 ? (by > 0 ? 0 : all.length - 1) : here + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** The row with the focus, or the one that holds it. */
export const focusedRow = () => document.activeElement?.closest("[data-row]") ?? null;

/** Do something with the run of the row that has the focus, or with the one that is open. */
function withRun(name) {
  const here = place();
  const id = focusedRow()?.dataset.run ?? (here.name === "run" ? here.rest : null);
  const run = id && store.runs.get(id);
  if (run) attempt(async () => (await import("./actions.js"))[name](run));
}

export async function startNew() {
  const { openStartDialog } = await import("./start-dialog.js");
  await openStartDialog();
}

export async function showKeys() {
  if (isDialogOpen()) return;
  const { openKeys } = await import("./keys-help.js");
  openKeys();
}
