/** The hub: the servers behind it, their tools, what was called, and how much of a model's room their schemas take. */

import { perform } from "./api.js";
import { button, commandButton, stateBadge } from "./badge.js";
import { chosenProject } from "./choices.js";
import { openDialog } from "./dialog.js";
import { element, setHidden } from "./element.js";
import { exactDuration, tokens } from "./format.js";
import { loading } from "./loading.js";
import { attempt } from "./notices.js";
import { store } from "./store.js";
import { clean, line } from "./text.js";
import { words } from "./words.js";

const PAUSE = 150;
const MOST_TOOLS = 200;
const STATES = {
  connected: "done",
  connecting: "running",
  failed: "failed",
  idle: "queued",
  closed: "queued",
};

export function open(main) {
  const hub = new HubPage();
  main.append(hub.root);
  return hub;
}

class HubPage {
  constructor() {
    this.project = null;
    this.servers = element("tbody", {});
    this.problem = element("p", { class: "budget state-needs", role: "status" });
    this.budget = element("p", { class: "budget" });
    this.tools = element("ul", { class: "tools" });
    this.query = element("input", {
      type: "search",
      placeholder: words("hub.search"),
      "aria-label": words("hub.search"),
    });
    this.empty = element(
      "div",
      { class: "invitation", hidden: true },
      element("p", {}, words("hub.empty"), " ", commandButton("kumi hub import")),
      element("p", {}, commandButton("kumi hub add files -- npx -y @modelcontextprotocol/server-filesystem .")),
    );
    const heads = ["server", "state", "tools", "schema", "calls", "cached", "retries", "errors", "time"];
    this.table = element(
      "div",
      { class: "scroll" },
      element(
        "table",
        { class: "list" },
        element(
          "thead",
          {},
          element("tr", {}, ...heads.map((name) => element("th", { scope: "col" }, words(`hub.${name}`)))),
        ),
        this.servers,
      ),
    );
    this.test = button(words("hub.test"), () => attempt(() => this.connectAll()));
    this.toolsPart = element(
      "section",
      {},
      element("header", { class: "view-head" }, element("h2", {}, words("hub.tools_title")), this.query),
      this.tools,
    );
    this.root = element(
      "div",
      {},
      element(
        "header",
        { class: "view-head" },
        element("h1", {}, words("view.hub")),
        this.test,
        button(words("look_again"), () => attempt(() => this.fetch())),
      ),
      this.problem,
      this.empty,
      this.table,
      this.budget,
      this.toolsPart,
    );
    for (const part of [this.problem, this.table, this.toolsPart, this.test]) setHidden(part, true);
    this.query.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => attempt(() => this.find()), PAUSE);
    });
  }

  get where() {
    return { project: this.project };
  }

  /** Fetched when the project is known, and again when another one is chosen. */
  update() {
    const project = chosenProject() ?? store.projects[0]?.projectId ?? null;
    if (!project || project === this.project) return;
    this.project = project;
    attempt(() => loading(() => this.fetch()));
  }

  async fetch() {
    const [{ servers, problem }, stats] = await Promise.all([
      perform("hub/servers", {}, this.where),
      perform("hub/stats", {}, this.where),
    ]);
    const used = new Map(stats.servers.map((server) => [server.name, server]));
    this.servers.replaceChildren(...servers.map((server) => serverRow(server, used.get(server.name))));
    this.problem.textContent = problem ? `⚠ ${line(problem, 400)}` : "";
    setHidden(this.problem, !problem);
    setHidden(this.empty, servers.length > 0);
    for (const part of [this.table, this.toolsPart, this.test, this.budget]) setHidden(part, !servers.length);
    const facts = { count: stats.tools, tokens: tokens(stats.schemaTokens), budget: tokens(stats.budget) };
    this.budget.textContent = words(stats.overBudget ? "hub.over_budget" : "hub.within_budget", facts);
    this.budget.className = `budget ${stats.overBudget ? "state-needs" : "muted"}`;
    if (servers.length) await this.find();
  }

  async find() {
    const query = this.query.value.trim();
    const { tools } = await perform("hub/search", { limit: MOST_TOOLS, ...(query ? { query } : {}) }, this.where);
    this.tools.replaceChildren(...tools.map((tool) => this.toolRow(tool)));
  }

  toolRow(tool) {
    const name = clean(tool.name);
    const open = element(
      "a",
      {
        class: "open code",
        href: "#/hub",
        "data-row": "",
        onclick: (event) => (event.preventDefault(), attempt(() => this.describe(name))),
      },
      name,
    );
    return element("li", {}, open, element("span", { class: "muted said" }, line(tool.description, 200)));
  }

  async describe(name) {
    const tool = await perform("hub/describe", { tool: name }, this.where);
    const schema = (title, value) =>
      value
        ? [element("h3", {}, words(title)), element("pre", { class: "scroll" }, clean(JSON.stringify(value, null, 2)))]
        : [];
    openDialog(
      name,
      [
        element("p", { class: "description" }, clean(tool.description)),
        ...schema("hub.input", tool.inputSchema),
        ...schema("hub.output", tool.outputSchema),
      ],
      { wide: true },
    );
  }

  async connectAll() {
    this.test.disabled = true;
    try {
      await perform("hub/test", {}, this.where);
    } finally {
      this.test.disabled = false;
    }
    await this.fetch();
  }
}

function serverRow(server, used) {
  const badge = stateBadge();
  badge.update(STATES[server.state] ?? "queued", words(`hub_state.${server.state}`));
  const errors = Object.entries(used?.errors ?? {})
    .map(([code, count]) => `${code} ${count}`)
    .join(", ");
  const cells = [used?.tools, tokens(used?.schemaTokens), used?.calls, used?.cached, used?.retries].map((value) =>
    element("td", { class: "number" }, String(value ?? "")),
  );
  const time = used?.calls ? exactDuration(used.milliseconds / used.calls) : "";
  return element(
    "tr",
    {},
    element(
      "th",
      { scope: "row" },
      line(server.name, 60),
      element("span", { class: "muted about" }, line(server.error ?? "", 160)),
    ),
    element("td", {}, badge.root),
    ...cells,
    element("td", { class: errors ? "state-failed" : "" }, line(errors, 120)),
    element("td", { class: "number" }, time),
  );
}
