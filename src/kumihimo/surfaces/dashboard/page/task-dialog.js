/** A new task. */

import { perform } from "./api.js";
import { button } from "./badge.js";
import { chosenProject } from "./choices.js";
import { openDialog } from "./dialog.js";
import { field, select } from "./fields.js";
import { element } from "./element.js";
import { attempt } from "./notices.js";
import { store } from "./store.js";
import { clean } from "./text.js";
import { words } from "./words.js";

export function openTaskDialog() {
  const title = element("input", { required: true, autocomplete: "off" });
  const description = element("textarea", { rows: "5" });
  const assignee = select([["", words("task.nobody")], ...store.roles.map((role) => [role.name, clean(role.name)])]);
  const priority = select(
    ["low", "medium", "high", "critical"].map((one) => [one, words(`priority.${one}`)]),
    "medium",
  );
  const project = select(
    store.projects.map((one) => [one.projectId, clean(one.name)]),
    chosenProject() ?? store.projects[0]?.projectId ?? null,
  );
  const create = () =>
    attempt(async () => {
      const facts = {
        title: title.value,
        description: description.value,
        priority: priority.value,
        ...(assignee.value ? { assignee: assignee.value } : {}),
      };
      const made = await perform("task/create", facts, { project: project.value });
      store.apply({ type: "task:created", data: made });
      close();
    });
  const form = element(
    "form",
    { onsubmit: (event) => (event.preventDefault(), create()) },
    field(words("task.title"), title),
    field(words("task.description"), description),
    element(
      "div",
      { class: "fields" },
      field(words("task.assignee"), assignee),
      field(words("task.priority"), priority),
      store.projects.length > 1 ? field(words("task.project"), project) : null,
    ),
    element(
      "footer",
      {},
      button(words("cancel"), () => close()),
      element("button", { class: "button primary", type: "submit" }, words("task.create")),
    ),
  );
  const { close } = openDialog(words("task.new"), [form]);
  title.focus();
}
