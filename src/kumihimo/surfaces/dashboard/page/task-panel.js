/** A task at the side of the board: all about it, and what can be done with it. */

import { assignTask, editTask, mergeTask, moveTask, startWorker } from "./actions.js";
import { perform } from "./api.js";
import { button, idButton, stateBadge } from "./badge.js";
import { field, select } from "./fields.js";
import { element, keep, setAttribute, setHidden, setText } from "./element.js";
import { shortMoment } from "./format.js";
import { waitsForMerge, taskOf } from "./needs.js";
import { attempt } from "./notices.js";
import { toRun, toTask } from "./router.js";
import { inWords, isOpen, stateOf } from "./states.js";
import { store } from "./store.js";
import { clean, line } from "./text.js";
import { words } from "./words.js";

const STATUSES = ["backlog", "todo", "in_progress", "blocked", "done", "cancelled"];
const PRIORITIES = ["low", "medium", "high", "critical"];
const CONTEXT = ["progress", "findings", "blockers", "nextSteps"];

export class TaskPanel {
  constructor(id, close) {
    this.id = id;
    this.shown = null;
    this.title = element("h2", {});
    this.identity = element("span", {});
    this.reason = element("p", { class: "reason state-needs" });
    this.description = element("p", { class: "description" });
    this.status = this.choice(
      STATUSES.map((one) => [one, words(`status.${one}`)]),
      (value) => moveTask(this.task, value),
    );
    this.priority = this.choice(
      PRIORITIES.map((one) => [one, words(`priority.${one}`)]),
      (value) => editTask(this.task, { priority: value }),
    );
    this.assignee = this.choice([], (value) => assignTask(this.task, value));
    this.start = button(words("worker.start"), () => startWorker(this.task), { kind: "primary" });
    this.merge = button(words("merge"), () => mergeTask(this.task), { label: words("merge.label") });
    this.lists = element("div", {});
    this.runs = element("ul", { class: "rows" });
    this.runsPart = element("div", { hidden: true }, element("h3", {}, words("task.runs")), this.runs);
    this.context = element("div", {});
    this.root = element(
      "div",
      { class: "panel-body unknown" },
      element("header", {}, this.identity, button("×", close, { kind: "plain", label: words("close") })),
      this.title,
      this.reason,
      element(
        "div",
        { class: "fields" },
        field(words("task.status"), this.status),
        field(words("task.assignee"), this.assignee),
        field(words("task.priority"), this.priority),
      ),
      element("div", { class: "acts" }, this.start, this.merge),
      this.description,
      this.lists,
      this.runsPart,
      this.context,
    );
    attempt(() => this.fetch());
  }

  get task() {
    return store.tasks.get(this.id);
  }

  choice(options, act) {
    const made = select(options);
    // What is refused is shown as it was.
    made.addEventListener("change", () =>
      attempt(async () => {
        await act(made.value);
        this.shown = null;
        this.update();
      }),
    );
    return made;
  }

  async fetch() {
    if (!this.task) {
      const task = await perform("task/show", { task: this.id });
      this.id = task.taskId;
      store.apply({ type: "task:updated", data: task });
    }
    const told = await perform("context/show", { task: this.id }, { project: this.task.projectId });
    this.context.replaceChildren(
      ...CONTEXT.filter((name) => told[name]).map((name) => titled(`context.${name}`, told[name])),
    );
  }

  update() {
    const { task } = this;
    if (!task) return;
    setAttribute(this.root, "class", "panel-body");
    this.drawRuns();
    const waits = waitsForMerge(task, store);
    setHidden(this.merge, !waits);
    setHidden(this.start, waits || this.isBusy() || !["todo", "blocked", "in_progress"].includes(task.status));
    const facts = JSON.stringify([task, store.roles.map((role) => role.name)]);
    if (facts === this.shown) return;
    this.shown = facts;
    this.identity.replaceChildren(element("span", { class: "number" }, `#${task.id} `), idButton(task.taskId));
    setText(this.title, line(task.title, 400));
    setText(this.reason, task.reason ? clean(task.reason) : "");
    setHidden(this.reason, !task.reason);
    setText(this.description, clean(task.description));
    this.drawAssignees(task);
    this.status.value = task.status;
    this.priority.value = task.priority;
    this.lists.replaceChildren(...lists(task));
  }

  /** Somebody is at it. */
  isBusy() {
    return [...store.runs.values()].some((run) => isOpen(run) && taskOf(store, run) === this.id);
  }

  drawAssignees(task) {
    const names = [...new Set([...store.roles.map((role) => role.name), task.assignee].filter(Boolean))];
    this.assignee.replaceChildren(
      element("option", { value: "", disabled: true }, words("task.nobody")),
      ...names.map((name) => element("option", { value: name }, clean(name))),
    );
    this.assignee.value = task.assignee ?? "";
  }

  drawRuns() {
    const own = [...store.runs.values()].filter((run) => taskOf(store, run) === this.id);
    own.sort((one, other) => ((one.queuedAt ?? "") < (other.queuedAt ?? "") ? 1 : -1));
    setHidden(this.runsPart, !own.length);
    keep(this.runs, own, (run) => run.agentId, runLine);
  }

  close() {
    this.root.remove();
  }
}

function runLine(first) {
  const badge = stateBadge();
  const root = element(
    "li",
    { class: "line" },
    element("a", { class: "open", href: toRun(first.agentId) }, badge.root, " ", line(first.role, 40)),
    element("span", { class: "number muted" }, shortMoment(first.startedAt ?? first.queuedAt)),
  );
  return { root, update: (run) => badge.update(stateOf(run), inWords(run)) };
}

function titled(key, text) {
  return element("div", {}, element("h3", {}, words(key)), element("p", { class: "description" }, clean(text)));
}

/** What it depends on, its parts, its checks, and what it may write. */
function lists(task) {
  const number = (one) => {
    const other = [...store.tasks.values()].find((known) => known.projectId === task.projectId && known.id === one);
    return element("a", { href: toTask(other?.taskId ?? one) }, `#${one} ${line(other?.title ?? "", 80)}`);
  };
  const parts = [
    ["task.depends_on", (task.dependsOn ?? []).map(number)],
    ["task.subtasks", (task.subtasks ?? []).map(number)],
    ["task.checks", (task.dod ?? []).map((command) => element("code", {}, line(command, 200)))],
    ["task.writes", (task.write ?? []).map((glob) => element("code", {}, line(glob, 200)))],
    ["task.excludes", (task.exclude ?? []).map((glob) => element("code", {}, line(glob, 200)))],
  ];
  return parts
    .filter(([, items]) => items.length)
    .map(([key, items]) =>
      element(
        "div",
        {},
        element("h3", {}, words(key)),
        element("ul", { class: "plain-list" }, ...items.map((item) => element("li", {}, item))),
      ),
    );
}
