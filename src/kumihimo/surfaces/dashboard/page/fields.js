/** Fields of forms, each with a label. */

import { element } from "./element.js";

let count = 0;

/** A labelled field. */
export function field(label, control, hint = null) {
  const id = `field-${++count}`;
  control.id = id;
  const more = hint ? element("small", { id: `${id}-hint` }, hint) : null;
  if (more) control.setAttribute("aria-describedby", more.id);
  return element("div", { class: "field" }, element("label", { for: id }, label), control, more);
}

export function select(options, chosen = null) {
  const made = element("select", {}, ...options.map(([value, text]) => element("option", { value }, text)));
  if (chosen !== null) made.value = chosen;
  return made;
}
