/** All keys, in a list. */

import { openDialog } from "./dialog.js";
import { element } from "./element.js";
import { words } from "./words.js";

const HELP = [
  ["/", "keys.search"],
  ["n", "keys.new"],
  ["j k", "keys.move"],
  ["enter", "keys.open"],
  ["s", "keys.stop"],
  ["r", "keys.retry"],
  ["g n", "keys.go_now"],
  ["g b", "keys.go_board"],
  ["g a", "keys.go_agents"],
  ["g h", "keys.go_history"],
  ["g u", "keys.go_hub"],
  ["g l", "keys.go_health"],
  ["h l", "keys.columns"],
  ["m b t p k d c", "keys.move_task"],
  ["c", "keys.new_task"],
  ["x", "keys.dismiss"],
  ["esc", "keys.close"],
  ["?", "keys.help"],
];

export function openKeys() {
  const list = element(
    "dl",
    { class: "keys" },
    ...HELP.flatMap(([keys, text]) => [
      element("dt", {}, ...keys.split(" ").map((key) => element("kbd", {}, key))),
      element("dd", {}, words(text)),
    ]),
  );
  openDialog(words("keys.title"), [list]);
}
