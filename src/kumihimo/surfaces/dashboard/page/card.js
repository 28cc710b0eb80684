/** A task as a card: number, title, who does it, what it waits for, and how its latest run stands. */

import { stateBadge } from "./badge.js";
import { element, setAttribute, setHidden, setText } from "./element.js";
import { toTask } from "./router.js";
import { inWords, stateOf } from "./states.js";
import { line } from "./text.js";
import { words } from "./words.js";

/** With the gap below it. */
export const CARD_HEIGHT = 96;

let dragged = null;
export const draggedTask = () => dragged;

/** @param {{task: any}} first @param {(id: string) => void} show */
export function card(first, show) {
  const id = first.task.taskId;
  const number = element("span", { class: "number muted" });
  const badge = stateBadge({ quiet: true });
  const priority = element("span", { class: "priority" });
  const title = element("span", { class: "card-title" });
  const who = element("span", { class: "muted" });
  const waits = element("span", { class: "waits state-needs" });
  const root = element(
    "li",
    { class: "card-place" },
    element(
      "a",
      { class: "card", href: toTask(id), draggable: "true", "data-row": "", "data-task": id },
      element("span", { class: "card-head" }, number, priority, badge.root),
      title,
      element("span", { class: "card-foot" }, who, waits),
    ),
  );
  const link = root.firstChild;
  link.addEventListener("dragstart", (event) => {
    dragged = id;
    event.dataTransfer.setData("text/plain", id);
    event.dataTransfer.effectAllowed = "move";
  });
  link.addEventListener("dragend", () => (dragged = null));
  link.addEventListener("click", () => show(id));
  const update = ({ task, run, waitsFor }) => {
    setText(number, `#${task.id}`);
    setText(title, line(task.title, 140));
    setAttribute(title, "title", line(task.title, 400));
    setText(who, line(task.assignee ?? "", 40));
    setText(priority, task.priority === "medium" ? "" : words(`priority.${task.priority}`));
    setAttribute(priority, "class", `priority priority-${task.priority}`);
    setText(
      waits,
      waitsFor.length ? words("task.blocked_by", { numbers: waitsFor.map((one) => `#${one}`).join(" ") }) : "",
    );
    setHidden(badge.root, !run);
    if (run) badge.update(stateOf(run), `${words("task.latest_run")}: ${inWords(run)}`);
    setAttribute(link, "data-run", run?.agentId ?? null);
  };
  return { root, update };
}
