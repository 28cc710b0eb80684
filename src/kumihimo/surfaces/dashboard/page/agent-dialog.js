/** Edit an agent: what plays it, what it is told, what it must pass, and what it may touch. */

import { perform } from "./api.js";
import { button } from "./badge.js";
import { openDialog } from "./dialog.js";
import { field, select } from "./fields.js";
import { isDialogOpen } from "./keys.js";
import { element } from "./element.js";
import { fetchRoles } from "./fetched.js";
import { attempt, tell } from "./notices.js";
import { rename } from "./router.js";
import { words } from "./words.js";

const CLIENTS = ["claude-code", "codex", "gemini-cli", "opencode", "copilot", "qwen-code", "cursor"];
const linesOf = (text) =>
  text
    .split("\n")
    .map((one) => one.trim())
    .filter(Boolean);

export async function openAgentDialog(name) {
  if (isDialogOpen()) return;
  const agent = await perform("agent/show", { agent: name });
  const client = element("input", { list: "client-names", value: agent.client, spellcheck: "false" });
  const model = element("input", { value: agent.model ?? "", spellcheck: "false" });
  const role = element("input", { value: agent.role });
  const prompt = area(agent.systemPrompt, 6);
  const checks = area(agent.dod.join("\n"), 3);
  const write = area(agent.write.join("\n"), 2);
  const exclude = area(agent.exclude.join("\n"), 2);
  const status = select(
    ["active", "inactive"].map((one) => [one, words(`agent.${one}`)]),
    agent.status,
  );
  const save = () =>
    attempt(async () => {
      await perform("agent/update", {
        agent: agent.agentId,
        client: client.value,
        role: role.value,
        system_prompt: prompt.value,
        dod: linesOf(checks.value),
        write: linesOf(write.value),
        exclude: linesOf(exclude.value),
        ...(model.value === (agent.model ?? "") ? {} : { model: model.value }),
        ...(status.value === agent.status ? {} : { status: status.value }),
      });
      close();
      tell(words("agents.saved", { name: agent.name }));
      await fetchRoles();
    });
  const form = element(
    "form",
    { onsubmit: (event) => (event.preventDefault(), save()) },
    element("datalist", { id: "client-names" }, ...CLIENTS.map((one) => element("option", { value: one }))),
    field(words("agents.description"), role),
    element(
      "div",
      { class: "fields" },
      field(words("agents.client"), client),
      field(words("agents.model"), model),
      field(words("agents.status"), status),
    ),
    field(words("agents.system_prompt"), prompt),
    field(words("agents.checks"), checks, words("agents.one_per_line")),
    element(
      "div",
      { class: "fields" },
      field(words("agents.write"), write, words("agents.one_per_line")),
      field(words("agents.exclude"), exclude, words("agents.one_per_line")),
    ),
    element(
      "footer",
      {},
      button(words("cancel"), () => close()),
      element("button", { class: "button primary", type: "submit" }, words("save")),
    ),
  );
  const { close } = openDialog(words("agents.edit_label", { name: agent.name }), [form], {
    wide: true,
    onclose: () => rename("#/agents"),
  });
  role.focus();
}

function area(text, rows) {
  const made = element("textarea", { rows: String(rows), spellcheck: "false" });
  made.value = text;
  return made;
}
