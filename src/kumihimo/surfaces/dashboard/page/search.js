/** What the search box finds: a list below it that is walked with the arrows. */

import { perform } from "./api.js";
import { chosenProject } from "./choices.js";
import { element, setAttribute, setHidden } from "./element.js";
import { attempt, tellError } from "./notices.js";
import { go, toHistory, toRun, toTask } from "./router.js";
import { store } from "./store.js";
import { clean, line } from "./text.js";
import { words } from "./words.js";

const PAUSE = 120;
const MOST = 20;

export class Search {
  constructor(input, list) {
    this.input = input;
    this.list = list;
    this.hits = [];
    this.chosen = -1;
    this.timer = 0;
    this.asking = null;
  }

  ask() {
    clearTimeout(this.timer);
    const query = this.input.value.trim();
    if (!query) return this.hide();
    this.timer = setTimeout(() => this.fetch(query), PAUSE);
  }

  async fetch(query) {
    this.asking?.abort();
    this.asking = new AbortController();
    try {
      const answer = await perform("board/search", { query, limit: MOST }, { signal: this.asking.signal });
      if (document.activeElement === this.input) this.show(answer.hits);
    } catch (error) {
      tellError(error);
    }
  }

  show(hits) {
    this.hits = hits;
    this.chosen = hits.length ? 0 : -1;
    const rows = hits.map((hit, place) => this.row(hit, place));
    this.list.replaceChildren(...(rows.length ? rows : [element("li", { class: "empty" }, words("search.nothing"))]));
    setHidden(this.list, false);
    setAttribute(this.input, "aria-expanded", "true");
    this.mark();
  }

  row(hit, place) {
    // Before the box loses its focus and the list is gone.
    const take = (event) => {
      event.preventDefault();
      this.open(hit);
    };
    return element(
      "li",
      { id: `hit-${place}`, role: "option", onmousedown: take },
      element("span", { class: "kind" }, words(`kind.${hit.kind}`)),
      element("span", { class: "title" }, line(hit.title, 120)),
      element("span", { class: "excerpt" }, line(hit.excerpt, 160)),
    );
  }

  mark() {
    for (const [place, row] of [...this.list.children].entries())
      setAttribute(row, "aria-selected", place === this.chosen ? "true" : null);
    setAttribute(this.input, "aria-activedescendant", this.chosen >= 0 ? `hit-${this.chosen}` : null);
    this.list.children[this.chosen]?.scrollIntoView({ block: "nearest" });
  }

  press(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps && this.hits.length) {
      event.preventDefault();
      this.chosen = (this.chosen + steps[event.key] + this.hits.length) % this.hits.length;
      this.mark();
    } else if (event.key === "Enter" && this.hits[this.chosen] && !this.list.hidden) {
      event.preventDefault();
      this.open(this.hits[this.chosen]);
    } else if (event.key === "Escape") {
      this.input.value = "";
      this.input.blur();
    }
  }

  open(hit) {
    this.input.blur();
    if (hit.kind === "memory")
      attempt(async () => (await import("./memory-dialog.js")).showMemory(hit.id, hit.projectId ?? chosenProject()));
    else go(placeOf(hit));
  }

  hide() {
    clearTimeout(this.timer);
    this.asking?.abort();
    this.hits = [];
    setHidden(this.list, true);
    setAttribute(this.input, "aria-expanded", "false");
    setAttribute(this.input, "aria-activedescendant", null);
  }
}

/** Numbers are those of a project; the board knows tasks by the id that only one of them has. */
function taskId(hit) {
  const known = [...store.tasks.values()].find(
    (task) => String(task.id) === String(hit.id) && (!hit.projectId || task.projectId === hit.projectId),
  );
  return known?.taskId ?? clean(hit.id);
}

/** Where a hit is looked at. */
function placeOf(hit) {
  const id = clean(hit.id);
  const places = {
    run: () => toRun(id),
    task: () => toTask(taskId(hit)),
    handoff: () => "#/now",
    group: () => toHistory({ group: id }),
    agent: () => `#/agents/${encodeURIComponent(id)}`,
    project: () => "#/board",
  };
  return places[hit.kind]?.() ?? "#/now";
}
