/** Health: what the doctor finds, versions, where everything is, and the limits. */

import { perform } from "./api.js";
import { button, commandButton, stateBadge } from "./badge.js";
import { element, keep, setHidden, setText } from "./element.js";
import { fetchStatus } from "./fetched.js";
import { moment } from "./format.js";
import { loading } from "./loading.js";
import { attempt } from "./notices.js";
import { store } from "./store.js";
import { clean, line } from "./text.js";
import { words } from "./words.js";

// As the columns of the board are.
const TASK_STATUSES = ["backlog", "todo", "in_progress", "blocked", "done", "cancelled"];
const STATES = { ok: "done", warning: "needs", error: "failed" };

export function open(main) {
  const findings = element("tbody", {});
  const facts = element("dl", { class: "facts wide-facts" });
  const parked = element("ul", { class: "plain-list" });
  const parkedPart = element("section", { hidden: true }, element("h2", {}, words("health.parked")), parked);
  const look = (fix) =>
    attempt(() =>
      loading(async () => {
        const { checks } = await perform("board/doctor", fix ? { fix: true } : {});
        findings.replaceChildren(...checks.map(findingRow));
        await fetchStatus();
      }),
    );
  const head = element(
    "header",
    { class: "view-head" },
    element("h1", {}, words("view.health")),
    button(words("look_again"), () => look(false)),
    button(words("health.fix"), () => look(true), { title: "kumi doctor --fix" }),
  );
  main.append(
    head,
    facts,
    parkedPart,
    element("h2", {}, words("health.findings")),
    element(
      "div",
      { class: "scroll" },
      element(
        "table",
        { class: "list" },
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            ...["state", "name", "detail"].map((name) => element("th", { scope: "col" }, words(`health.${name}`))),
          ),
        ),
        findings,
      ),
    ),
  );
  look(false);
  const update = () => {
    keep(facts, factsOf(store.status), (fact) => fact.name, factRow);
    const waiting = Object.entries(store.status?.parked ?? {});
    keep(parked, waiting, ([client]) => client, parkedRow);
    setHidden(parkedPart, !waiting.length);
  };
  return { update };
}

function factsOf(status) {
  if (!status) return [];
  const tasks = TASK_STATUSES.filter((name) => status.tasks?.[name])
    .map((name) => `${words(`status.${name}`)} ${status.tasks[name]}`)
    .join(" · ");
  const hosts = Object.entries(status.hosts ?? {})
    .map(([state, count]) => `${words(`host.${state}`)} ${count}`)
    .join(" · ");
  return [
    ["health.version", status.version],
    ["health.database", status.database],
    ["health.url", status.url],
    ["health.pid", status.pid],
    ["health.token", status.tokenFile],
    ["health.slots", words("health.slots_used", { used: status.liveRuns, slots: status.slots })],
    ["health.projects", status.projects],
    ["health.agents", status.agents],
    ["health.tasks", tasks],
    ["health.sessions", status.liveSessions],
    ["health.hosts", hosts],
  ]
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => ({ name, value: clean(value) }));
}

function factRow(first) {
  const value = element("dd", { class: "number" });
  const root = element("div", {}, element("dt", {}, words(first.name)), value);
  return { root, update: (fact) => setText(value, fact.value) };
}

function parkedRow([client]) {
  const badge = stateBadge();
  const root = element("li", {}, badge.root);
  return {
    root,
    update: ([, until]) => badge.update("parked", words("health.parked_until", { client, time: moment(until) })),
  };
}

function findingRow(finding) {
  const badge = stateBadge();
  badge.update(
    STATES[finding.status] ?? "queued",
    words(finding.mended ? "health.mended" : `health.${finding.status}`),
  );
  return element(
    "tr",
    {},
    element("td", {}, badge.root),
    element("th", { scope: "row", class: "code" }, line(finding.name, 60)),
    element("td", { class: "detail" }, ...withCommands(clean(finding.detail))),
  );
}

/** A sentence in which what stands between backquotes is code, and what can be typed can be copied. */
function withCommands(text) {
  return text
    .split("`")
    .map((part, place) =>
      place % 2 === 0 ? part : part.startsWith("kumi ") ? commandButton(part) : element("code", {}, part),
    );
}
