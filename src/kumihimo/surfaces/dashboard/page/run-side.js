/** Beside a run: its times, what it used, the files it touched, its checks, and what it belongs to. */

import { perform } from "./api.js";
import { button } from "./badge.js";
import { element, keep, setHidden, setText } from "./element.js";
import { clockTime, exactDuration, moment, money, shortId, tokens } from "./format.js";
import { taskOf } from "./needs.js";
import { toHistory, toRun, toTask } from "./router.js";
import { shapeOf } from "./states.js";
import { store } from "./store.js";
import { clean, line, within } from "./text.js";
import { openDialog } from "./dialog.js";
import { words } from "./words.js";

export class RunSide {
  constructor(id) {
    this.id = id;
    this.proof = null;
    this.facts = element("dl", { class: "facts" });
    this.files = element("ul", { class: "files" });
    this.filesPart = part("run.files", this.files);
    this.conflicts = element("ul", { class: "files" });
    this.conflictsPart = part("run.conflicts", this.conflicts);
    this.checks = element("ul", { class: "checks" });
    this.checksPart = part("run.checks", this.checks);
    this.proofButton = button(words("run.proof"), () => this.showProof(), {});
    setHidden(this.proofButton, true);
    this.root = element(
      "aside",
      { class: "run-side", "aria-label": words("run.facts") },
      this.facts,
      this.filesPart,
      this.conflictsPart,
      this.checksPart,
      this.proofButton,
    );
  }

  update(run) {
    keep(this.facts, factsOf(run), (fact) => fact.name, factRow);
    const files = [
      ...(run.createdFiles ?? []).map((path) => ["+", path]),
      ...(run.editedFiles ?? []).map((path) => ["~", path]),
    ];
    keep(
      this.files,
      files,
      ([sign, path]) => sign + path,
      ([sign, path]) => fileRow(sign, path, run),
    );
    setHidden(this.filesPart, !files.length);
    keep(this.conflicts, run.conflicts ?? [], (one) => one.agentId, conflictRow);
    setHidden(this.conflictsPart, !run.conflicts?.length);
    setHidden(this.checksPart, !this.proof?.checks?.length);
    setHidden(this.proofButton, !run.endedAt);
  }

  async fetchProof() {
    this.proof = await perform("run/proof", { run: this.id });
    keep(this.checks, this.proof.checks, (check) => check.command, checkRow);
    setHidden(this.checksPart, !this.proof.checks.length);
  }

  async showProof() {
    if (!this.proof) await this.fetchProof();
    openDialog(words("run.proof"), [element("pre", { class: "scroll" }, clean(JSON.stringify(this.proof, null, 2)))], {
      wide: true,
    });
  }
}

function part(title, body) {
  return element("section", { hidden: true }, element("h3", {}, words(title)), body);
}

/** Names and values; what is not known is left out. */
function factsOf(run) {
  const usage = run.usage ?? {};
  const task = store.tasks.get(taskOf(store, run));
  const facts = [
    ["run.queued", clockTime(run.queuedAt), null, moment(run.queuedAt)],
    ["run.started", clockTime(run.startedAt), null, moment(run.startedAt)],
    ["run.ended", clockTime(run.endedAt), null, moment(run.endedAt)],
    ["run.tools", String(run.toolCallCount ?? 0)],
    ["run.tokens_in", usage.inputTokens ? tokens(usage.inputTokens) : ""],
    ["run.tokens_out", usage.outputTokens ? tokens(usage.outputTokens) : ""],
    ["run.cost", money(usage.costUsd)],
    [
      "run.exit",
      run.exitCode === null || run.exitCode === undefined
        ? ""
        : `${run.exitCode}${run.signal ? ` (${run.signal})` : ""}`,
    ],
    ["run.task", task ? `#${task.id} ${line(task.title, 60)}` : "", task && toTask(task.taskId)],
    [
      "run.group",
      run.groupId ? line(store.groups.get(run.groupId)?.description ?? shortId(run.groupId), 60) : "",
      run.groupId && toHistory({ group: run.groupId }),
    ],
    ["run.stage", run.stageIndex === null || run.stageIndex === undefined ? "" : String(run.stageIndex + 1)],
    ["run.continues", run.continues ? shortId(run.continues) : "", run.continues && toRun(run.continues)],
  ];
  return facts.filter(([, value]) => value).map(([name, value, href, title]) => ({ name, value, href, title }));
}

function factRow(first) {
  const value = first.href ? element("a", { href: first.href }) : element("span", {});
  const root = element(
    "div",
    {},
    element("dt", {}, words(first.name)),
    element("dd", { class: "number", title: first.title }, value),
  );
  return { root, update: (fact) => setText(value, fact.value) };
}

function fileRow(sign, path, run) {
  const label = words(sign === "+" ? "run.created" : "run.edited");
  const root = element(
    "li",
    { title: `${label}: ${clean(path)}` },
    element("span", { class: "sign", "aria-label": label }, sign),
    element("span", { class: "path" }, within(run.worktree ?? run.workingDirectory, path)),
  );
  return { root, update: () => {} };
}

/** Another run that has changed the same files in a worktree of its own. */
function conflictRow(first) {
  const files = element("span", { class: "path" });
  const link = element("a", { class: "state-needs", href: toRun(first.agentId) }, `⚠ ${shortId(first.agentId)}`);
  return { root: element("li", {}, link, files), update: (one) => setText(files, one.files.map(clean).join(", ")) };
}

function checkRow(check) {
  const state = check.status === "passed" ? "done" : check.status === "not_run" ? "queued" : "failed";
  const code = check.exitCode ?? check.exit_code;
  const root = element(
    "li",
    {},
    element(
      "details",
      {},
      element(
        "summary",
        {},
        element("span", { class: `shape state-${state}`, "aria-hidden": "true" }, shapeOf(state)),
        " ",
        element("code", {}, line(check.command, 120)),
        element(
          "span",
          { class: "number muted" },
          words("run.check_end", { code: code ?? "–", time: exactDuration(check.durationMs ?? check.duration_ms) }),
        ),
      ),
      element("pre", {}, clean(check.output)),
    ),
  );
  return { root, update: () => {} };
}
