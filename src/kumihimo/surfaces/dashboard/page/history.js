/** History: every run there was, by group, state, role and time; only what is seen is drawn, and more is fetched at the end. */

import { perform } from "./api.js";
import { button } from "./badge.js";
import { chosenProject } from "./choices.js";
import { select } from "./fields.js";
import { element, setHidden, setText } from "./element.js";
import { historyRow, ROW_HEIGHT } from "./history-row.js";
import { loading } from "./loading.js";
import { attempt } from "./notices.js";
import { rename, toHistory } from "./router.js";
import { store } from "./store.js";
import { clean, line } from "./text.js";
import { Windowed } from "./windowed.js";
import { words } from "./words.js";

const PAGE = 200;
const STATUSES = ["running", "queued", "completed", "failed", "timedOut", "cancelled", "lost"];
const TIMES = { hour: 1, day: 24, week: 24 * 7, month: 24 * 30 };

export function open(main, place) {
  return new History(main, place);
}

class History {
  constructor(main, place) {
    this.main = main;
    this.runs = [];
    this.ids = new Set();
    this.cursor = null;
    this.over = false;
    this.fetching = null;
    this.filters = Object.fromEntries(
      ["group", "status", "role", "time"].map((name) => [name, place.query.get(name) ?? ""]),
    );
    this.count = element("span", { class: "muted number" });
    this.fresh = button("", () => this.begin(), { kind: "primary" });
    this.empty = element("p", { class: "invitation", hidden: true });
    this.bar = element("div", { class: "filters", role: "search", "aria-label": words("history.filters") });
    this.list = new Windowed(main, ROW_HEIGHT, historyRow, (run) => run.agentId, { onnear: () => this.more() });
    main.append(
      element("header", { class: "view-head" }, element("h1", {}, words("view.history")), this.count, this.fresh),
      this.bar,
      this.empty,
      this.list.root,
    );
    this.drawFilters();
    this.begin();
  }

  rename(place) {
    this.filters = Object.fromEntries(Object.keys(this.filters).map((name) => [name, place.query.get(name) ?? ""]));
    this.drawFilters();
    this.begin();
    return true;
  }

  drawFilters() {
    const any = ["", words("history.any")];
    const options = {
      group: [
        any,
        ...[...store.groups.values()]
          .reverse()
          .slice(0, 200)
          .map((group) => [group.groupId, line(group.description ?? group.groupId, 60)]),
      ],
      status: [any, ...STATUSES.map((one) => [one, words(`run_status.${one}`)])],
      role: [any, ...store.roles.map((role) => [role.name, clean(role.name)])],
      time: [any, ...Object.keys(TIMES).map((one) => [one, words(`history.${one}`)])],
    };
    this.bar.replaceChildren(...Object.entries(options).map(([name, choices]) => this.filter(name, choices)));
  }

  filter(name, choices) {
    const chosen = this.filters[name];
    // What is asked for in the address may be older than what the page knows.
    const known = choices.some(([value]) => value === chosen) ? choices : [...choices, [chosen, chosen]];
    const control = select(known, chosen);
    control.setAttribute("aria-label", words(`history.${name}`));
    control.addEventListener("change", () => {
      this.filters[name] = control.value;
      rename(toHistory(Object.fromEntries(Object.entries(this.filters).filter(([, value]) => value))));
      this.begin();
    });
    return element("label", {}, element("span", { class: "muted" }, words(`history.${name}`)), control);
  }

  /** From the newest on. */
  begin() {
    this.project = chosenProject();
    this.runs = [];
    this.ids = new Set();
    this.cursor = null;
    this.over = false;
    this.since = this.filters.time ? new Date(Date.now() - TIMES[this.filters.time] * 3_600_000).toISOString() : null;
    this.fetching?.abort();
    this.fetching = null;
    this.more();
  }

  more() {
    if (this.over || this.fetching) return;
    const mine = (this.fetching = new AbortController());
    attempt(() => loading(() => this.fetch(mine))).then(() => {
      if (this.fetching === mine) this.fetching = null;
      this.update();
    });
  }

  async fetch(mine) {
    const { group, status, role } = this.filters;
    const asked = Object.entries({
      group,
      status,
      role,
      since: this.since,
      cursor: this.cursor,
      project: this.project,
    }).filter(([, value]) => value);
    try {
      const page = await perform("run/list", { ...Object.fromEntries(asked), limit: PAGE }, { signal: mine.signal });
      if (this.fetching !== mine) return;
      for (const run of page.agents) {
        if (!this.ids.has(run.agentId)) this.runs.push(run);
        this.ids.add(run.agentId);
      }
      this.cursor = page.nextCursor ?? null;
      this.over = !this.cursor;
    } catch (error) {
      this.over = true;
      throw error;
    }
  }

  /** Runs that began after the list was fetched, and that it would show. */
  newer() {
    if (!this.runs.length && this.fetching) return 0;
    const newest = this.runs[0]?.queuedAt ?? store.runs.get(this.runs[0]?.agentId)?.queuedAt ?? "";
    const { group, status, role } = this.filters;
    return [...store.runs.values()].filter(
      (run) =>
        !this.ids.has(run.agentId) &&
        (run.queuedAt ?? "") > newest &&
        (!group || run.groupId === group) &&
        (!role || run.role === role) &&
        (!status || run.status === status),
    ).length;
  }

  update() {
    if (this.project !== chosenProject()) return this.begin();
    this.list.show(this.runs.map((run) => store.runs.get(run.agentId) ?? run));
    setText(this.count, words(this.over ? "history.count" : "history.count_more", { count: this.runs.length }));
    setHidden(this.empty, this.runs.length > 0 || !this.over);
    setText(this.empty, words(Object.values(this.filters).some(Boolean) ? "history.empty" : "history.none"));
    const newer = this.newer();
    setHidden(this.fresh, !newer);
    setText(this.fresh, words("history.newer", { count: newer }));
    return undefined;
  }

  close() {
    this.list.close();
    this.fetching?.abort();
  }
}
