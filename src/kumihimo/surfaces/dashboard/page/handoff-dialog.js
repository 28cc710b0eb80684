/** Who takes over what was handed to nobody in particular. */

import { acceptHandoff } from "./actions.js";
import { button } from "./badge.js";
import { openDialog } from "./dialog.js";
import { element } from "./element.js";
import { select } from "./fields.js";
import { store } from "./store.js";
import { clean, line } from "./text.js";
import { words } from "./words.js";

export function chooseTaker(handoff) {
  const who = select(store.roles.map((role) => [role.name, clean(role.name)]));
  who.setAttribute("aria-label", words("accept.who"));
  const take = async () => {
    close();
    await acceptHandoff(handoff, who.value);
  };
  const { close } = openDialog(words("accept.who"), [
    element("p", {}, line(handoff.summary)),
    who,
    element("footer", {}, button(words("accept"), take, { kind: "primary" })),
  ]);
}
