/** The board: six columns, cards that are dragged or moved by key, a panel at the side while the board stays. */

import { moveTask } from "./actions.js";
import { button } from "./badge.js";
import { card, CARD_HEIGHT, draggedTask } from "./card.js";
import { element, setHidden, setText } from "./element.js";
import { focusedRow, ownKeys } from "./keys.js";
import { latestRuns } from "./needs.js";
import { attempt } from "./notices.js";
import { rename } from "./router.js";
import { store } from "./store.js";
import { TaskPanel } from "./task-panel.js";
import { shownTasks } from "./today.js";
import { Windowed } from "./windowed.js";
import { words } from "./words.js";

const COLUMNS = { backlog: "b", todo: "t", in_progress: "p", blocked: "k", done: "d", cancelled: "c" };
const PRIORITIES = { critical: 0, high: 1, medium: 2, low: 3 };

export function open(main, place) {
  const board = new Board();
  main.append(board.root);
  board.rename(place);
  return board;
}

class Board {
  constructor() {
    this.panel = null;
    this.columns = Object.keys(COLUMNS).map((status) => column(status, (id) => this.show(id)));
    this.empty = element("p", { class: "invitation", hidden: true }, words("board.empty"));
    this.side = element("aside", { class: "panel", "aria-label": words("task.panel"), hidden: true });
    const head = element(
      "header",
      { class: "view-head" },
      element("h1", {}, words("view.board")),
      button(words("task.new"), () => this.newTask(), { title: "c" }),
    );
    const grid = element("div", { class: "columns" }, ...this.columns.map((one) => one.root));
    this.root = element(
      "div",
      { class: "board" },
      head,
      this.empty,
      element("div", { class: "board-body" }, grid, this.side),
    );
    this.forget = ownKeys({
      m: this.moveKeys(),
      c: () => this.newTask(),
      Escape: () => this.hide(),
      h: () => this.across(-1),
      l: () => this.across(1),
    });
  }

  /** `m` and a letter move the card that has the focus, or the one that is open. */
  moveKeys() {
    return Object.fromEntries(
      Object.entries(COLUMNS).map(([status, key]) => [
        key,
        () => {
          const task = store.tasks.get(focusedRow()?.dataset.task ?? this.panel?.id);
          if (task)
            attempt(async () => {
              await moveTask(task, status);
              this.refocus(task.taskId);
            });
        },
      ]),
    );
  }

  /** The card keeps the focus in its new column. */
  refocus(id) {
    requestAnimationFrame(() =>
      requestAnimationFrame(() => this.root.querySelector(`[data-task="${CSS.escape(id)}"]`)?.focus()),
    );
  }

  across(by) {
    const row = focusedRow();
    const from = this.columns.findIndex((one) => row && one.root.contains(row));
    for (let at = from + by; at >= 0 && at < this.columns.length; at += by) {
      const first = this.columns[at].root.querySelector("[data-row]");
      if (first) return first.focus();
    }
    return undefined;
  }

  /** Another card is opened at the side; the board is not made anew. */
  rename(place) {
    if (place.rest) this.show(place.rest);
    else this.hide();
    return true;
  }

  show(id) {
    const found = store.tasks.get(id) ?? [...store.tasks.values()].find((task) => String(task.id) === id);
    const wanted = found?.taskId ?? id;
    if (this.panel?.id === wanted) return;
    this.panel?.close();
    this.panel = new TaskPanel(wanted, () => this.hide());
    this.side.replaceChildren(this.panel.root);
    setHidden(this.side, false);
    this.panel.update();
  }

  hide() {
    if (!this.panel) return;
    const id = this.panel.id;
    this.panel.close();
    this.panel = null;
    setHidden(this.side, true);
    rename("#/board");
    this.root.querySelector(`[data-task="${CSS.escape(id)}"]`)?.focus();
  }

  async newTask() {
    const { openTaskDialog } = await import("./task-dialog.js");
    openTaskDialog();
  }

  update() {
    const tasks = shownTasks(store);
    const latest = latestRuns(store);
    setHidden(this.empty, !store.filled || tasks.length > 0);
    const numbers = new Map(tasks.map((task) => [`${task.projectId} ${task.id}`, task]));
    for (const one of this.columns) {
      const own = tasks.filter((task) => task.status === one.status).sort(byUrgency);
      one.update(
        own.map((task) => ({ task, run: latest.get(task.taskId), waitsFor: openDependencies(task, numbers) })),
      );
    }
    this.panel?.update();
  }

  close() {
    this.forget();
    this.panel?.close();
    for (const one of this.columns) one.close();
  }
}

/** What it depends on that is not done. */
function openDependencies(task, numbers) {
  const known = (number) => numbers.get(`${task.projectId} ${number}`);
  // What the page does not know is long over: everything open is in the snapshot.
  return (task.dependsOn ?? []).filter((number) => known(number) && known(number).status !== "done");
}

/** What matters most first, then by number: a card moves only when something about it changes. What is over: newest first. */
function byUrgency(one, other) {
  if (one.status === "done" || one.status === "cancelled") return one.updatedAt < other.updatedAt ? 1 : -1;
  return PRIORITIES[one.priority] - PRIORITIES[other.priority] || one.id - other.id;
}

function column(status, show) {
  const count = element("span", { class: "count-of number" });
  const body = element("div", { class: "column-body" });
  const list = new Windowed(
    body,
    CARD_HEIGHT,
    (item) => card(item, show),
    (item) => item.task.taskId,
  );
  body.append(list.root);
  const title = words(`status.${status}`);
  const root = element(
    "section",
    { class: "column", "data-status": status, "aria-label": title },
    element("header", { title: `m ${COLUMNS[status]}` }, element("h2", {}, title), count),
    body,
  );
  root.addEventListener("dragover", (event) => {
    if (!draggedTask()) return;
    event.preventDefault();
    root.classList.add("over");
  });
  root.addEventListener("dragleave", (event) => {
    if (!root.contains(event.relatedTarget)) root.classList.remove("over");
  });
  root.addEventListener("drop", (event) => {
    event.preventDefault();
    root.classList.remove("over");
    const task = store.tasks.get(draggedTask());
    if (task) attempt(() => moveTask(task, status));
  });
  const update = (items) => {
    setText(count, String(items.length));
    list.show(items);
  };
  return { root, status, update, close: () => list.close() };
}
