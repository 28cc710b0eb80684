/** Dialogs: the browser's own, which keeps the focus inside and gives it back at the end. */

import { button } from "./badge.js";
import { element } from "./element.js";
import { words } from "./words.js";

let count = 0;

/**
 * Open a dialog with a title and a body; `close()` ends it. Escape ends it too.
 * @param {string} title
 * @param {Node[]} body
 * @param {{wide?: boolean, onclose?: () => void}} [options]
 */
export function openDialog(title, body, { wide = false, onclose = () => {} } = {}) {
  const name = `dialog-${++count}`;
  const close = () => dialog.close();
  const head = element(
    "header",
    {},
    element("h2", { id: name }, title),
    button("×", close, { kind: "plain", label: words("close") }),
  );
  const dialog = element("dialog", { class: wide ? "wide" : "", "aria-labelledby": name }, head, ...body);
  dialog.addEventListener("close", () => {
    dialog.remove();
    onclose();
  });
  document.body.append(dialog);
  dialog.showModal();
  return { dialog, close };
}

/** Whether a person agrees. */
export function confirmed(question, agree, { kind = "danger" } = {}) {
  return new Promise((resolve) => {
    let answer = false;
    const yes = button(
      agree,
      () => {
        answer = true;
        close();
      },
      { kind },
    );
    const no = button(words("cancel"), () => close());
    const { close } = openDialog(question, [element("footer", {}, no, yes)], { onclose: () => resolve(answer) });
    yes.focus();
  });
}
