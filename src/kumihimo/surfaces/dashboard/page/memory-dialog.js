/** A decision of the project, with its whole text. */

import { perform } from "./api.js";
import { openDialog } from "./dialog.js";
import { element } from "./element.js";
import { clean, line } from "./text.js";

export async function showMemory(slug, project) {
  const memory = await perform("memory/show", { memory: slug }, { project });
  openDialog(
    line(memory.title, 120),
    [
      element(
        "p",
        { class: "muted" },
        [memory.category, memory.status]
          .filter(Boolean)
          .map((word) => line(word, 60))
          .join(" · "),
      ),
      element("p", {}, clean(memory.summary)),
      element("pre", {}, clean(memory.content)),
    ],
    { wide: true },
  );
}
