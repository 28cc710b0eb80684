/** Agents: who can be given work, what plays each, and whether that is well. */

import { perform } from "./api.js";
import { button, commandButton, stateBadge } from "./badge.js";
import { element, keep, setAttribute, setHidden, setText } from "./element.js";
import { fetchRoles } from "./fetched.js";
import { exactDuration, shortMoment } from "./format.js";
import { loading } from "./loading.js";
import { attempt } from "./notices.js";
import { toHistory } from "./router.js";
import { store } from "./store.js";
import { line } from "./text.js";
import { words } from "./words.js";

export function open(main, place) {
  const rows = element("tbody", {});
  const checkAll = button(words("agents.check_all"), () => attempt(() => check(null)), {});
  const table = element(
    "table",
    { class: "list agents" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...["name", "client", "model", "health", "checked", "running", "actions"].map((name) =>
          element(
            "th",
            { scope: "col" },
            name === "actions"
              ? element("span", { class: "unseen" }, words("agents.actions"))
              : words(`agents.${name}`),
          ),
        ),
      ),
    ),
    rows,
  );
  const empty = element(
    "p",
    { class: "invitation", hidden: true },
    words("agents.empty"),
    " ",
    commandButton("kumi init"),
  );
  main.append(
    element("header", { class: "view-head" }, element("h1", {}, words("view.agents")), checkAll),
    empty,
    element("div", { class: "scroll" }, table),
  );
  loading(fetchRoles);
  const update = () => {
    keep(rows, store.roles, (role) => role.name, agentRow);
    setHidden(empty, !store.filled || store.roles.length > 0);
    setHidden(table, !store.roles.length);
  };
  if (place.rest) edit(place.rest);
  const rename = (to) => {
    if (to.rest) edit(to.rest);
    return true;
  };
  return { update, rename };
}

/** One, or every one where none is named. Asking costs a few tokens, so it is only done when told. */
async function check(agent) {
  const { roles } = await perform("role/check", agent ? { agent } : {});
  const fresh = new Map(roles.map((role) => [role.name, role]));
  store.set({ roles: store.roles.map((role) => fresh.get(role.name) ?? role) });
}

async function edit(name) {
  const { openAgentDialog } = await import("./agent-dialog.js");
  await attempt(() => openAgentDialog(name));
}

function agentRow(first) {
  const { name } = first;
  const about = element("span", { class: "muted about" });
  const link = element(
    "a",
    {
      class: "open",
      href: `#/agents/${encodeURIComponent(name)}`,
      "data-row": "",
      onclick: (event) => (event.preventDefault(), edit(name)),
    },
    line(name, 60),
  );
  const client = element("td", { class: "code" });
  const model = element("td", { class: "code" });
  const badge = stateBadge();
  const why = element("span", { class: "muted" });
  const checked = element("td", { class: "number" });
  const running = element("a", { class: "number", href: toHistory({ role: name }) });
  const now = button(words("agents.check"), () => attempt(() => busy(now, () => check(name))), {
    label: words("agents.check_label", { name }),
  });
  const change = button(words("agents.edit"), () => edit(name), { label: words("agents.edit_label", { name }) });
  const root = element(
    "tr",
    {},
    element("th", { scope: "row" }, link, about),
    client,
    model,
    element("td", {}, badge.root, " ", why),
    checked,
    element("td", {}, running),
    element("td", { class: "acts" }, now, change),
  );
  const update = (role) => {
    setText(about, line(role.description, 120));
    setText(client, [role.client, role.version].filter(Boolean).join(" "));
    setText(model, role.model ?? "");
    const [state, word] = health(role);
    badge.update(state, word);
    setText(
      why,
      line(
        role.healthCheck?.reason ?? (role.modelValidation?.status === "invalid" ? role.modelValidation.message : ""),
        160,
      ),
    );
    setText(checked, checkedAt(role.healthCheck));
    setAttribute(checked, "title", role.healthCheck?.checkedAt ?? null);
    setText(
      running,
      String([...store.runs.values()].filter((run) => run.role === role.name && run.status === "running").length),
    );
  };
  return { root, update };
}

function health(role) {
  if (!role.available) return ["failed", words("agents.unavailable")];
  if (role.modelValidation?.status === "invalid") return ["needs", words("agents.model_invalid")];
  return role.healthCheck?.status === "passed" ? ["done", words("agents.well")] : ["queued", words("agents.unchecked")];
}

function checkedAt(found) {
  if (!found?.checkedAt) return "";
  return [shortMoment(found.checkedAt), exactDuration(found.responseTime_ms)].filter(Boolean).join(" · ");
}

async function busy(control, doing) {
  control.disabled = true;
  try {
    await doing();
  } finally {
    control.disabled = false;
  }
}
