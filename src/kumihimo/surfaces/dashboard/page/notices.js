/** Sentences at the lower edge: an error stays until it is read, a confirmation goes by itself. */

import { element } from "./element.js";
import { clean } from "./text.js";
import { words } from "./words.js";

const SHORT = 2500;
let region = null;

export function noticeRegion() {
  region = element("div", { class: "notices", role: "status", "aria-live": "polite" });
  return region;
}

/** @param {Error & {code?: string}} error */
export function tellError(error) {
  if (error.name === "AbortError") return;
  const text = error.code === "Unreachable" ? words("error.unreachable") : error.message;
  show(text, "failed", "✕");
  if (error.status === undefined) throw error;
}

export function tell(text) {
  const shown = show(text, "done", "✓");
  setTimeout(() => shown.remove(), SHORT);
}

function show(text, state, shape) {
  const close = element("button", { class: "plain", type: "button", "aria-label": words("close") }, "×");
  const notice = element(
    "div",
    { class: `notice slide state-${state}` },
    element("span", { class: "shape", "aria-hidden": "true" }, shape),
    element("p", {}, clean(text)),
    close,
  );
  close.addEventListener("click", () => notice.remove());
  region.append(notice);
  return notice;
}

/** Do something and tell what went wrong, if anything. Answers undefined then. */
export async function attempt(doing) {
  try {
    return await doing();
  } catch (error) {
    tellError(error);
    return undefined;
  }
}
