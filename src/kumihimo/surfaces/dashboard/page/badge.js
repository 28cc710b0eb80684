/** Small parts that look the same everywhere: a state, an id that can be copied, a running time. */

import { still, tick } from "./clock.js";
import { element, setAttribute, setText } from "./element.js";
import { duration, moment, shortId } from "./format.js";
import { tell } from "./notices.js";
import { shapeOf } from "./states.js";
import { clean } from "./text.js";
import { words } from "./words.js";

/** A shape and, unless `quiet`, its word; the word is always there for who listens. */
export function stateBadge({ quiet = false } = {}) {
  const shape = element("span", { class: "shape", "aria-hidden": "true" });
  const word = element("span", { class: quiet ? "unseen" : "word" });
  const root = element("span", { class: "state" }, shape, word);
  const update = (state, text) => {
    setAttribute(root, "class", `state state-${state}`);
    setText(shape, shapeOf(state));
    setText(word, text ?? words(`state.${state}`));
    setAttribute(root, "title", quiet ? (text ?? words(`state.${state}`)) : null);
  };
  return { root, update };
}

/** The short form of an id; a click copies the whole. */
export function idButton(id) {
  const whole = clean(id);
  const label = words("copy.id", { id: whole });
  const copy = async (event) => {
    event.preventDefault();
    event.stopPropagation();
    await copyText(whole);
  };
  return element(
    "button",
    { class: "id", type: "button", title: label, "aria-label": label, onclick: copy },
    shortId(whole),
  );
}

/** A command that is ready to be copied. */
export function commandButton(command) {
  const label = words("copy.command", { command });
  return element(
    "button",
    { class: "command", type: "button", title: label, "aria-label": label, onclick: () => copyText(command) },
    command,
  );
}

async function copyText(text) {
  // Over plain HTTP from elsewhere there is no clipboard: the text is shown, to be marked by hand.
  if (!navigator.clipboard) return tell(text);
  await navigator.clipboard.writeText(text);
  tell(words("copied", { text: text.length > 60 ? `${text.slice(0, 59)}…` : text }));
}

/** How long something has taken; it runs on its own while there is no end. */
export function elapsed() {
  const root = element("span", { class: "number elapsed" });
  let known = null;
  const update = (from, to, fixed = null) => {
    const now = `${from}|${to}|${fixed}`;
    if (now === known) return;
    known = now;
    setAttribute(root, "title", from ? `${moment(from)}${to ? ` – ${moment(to)}` : ""}` : null);
    if (fixed !== null || !from || to) {
      still(root);
      setText(root, duration(fixed ?? (from ? Date.parse(to) - Date.parse(from) : null)));
    } else {
      const begun = Date.parse(from);
      tick(root, () => setText(root, duration(Date.now() - begun)));
    }
  };
  return { root, update };
}

/** A button whose press does not also open the row that it stands in. */
export function button(text, act, { kind = "", label = null, title = null } = {}) {
  const press = (event) => {
    event.preventDefault();
    event.stopPropagation();
    act(event);
  };
  return element(
    "button",
    { class: `button ${kind}`.trim(), type: "button", "aria-label": label, title, onclick: press },
    text,
  );
}
