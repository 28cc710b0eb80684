/** The conversation of a run: fetched page by page as it grows, and only its end is kept on the page. */

import { perform } from "./api.js";
import { element, setHidden, setText } from "./element.js";
import { entryView } from "./entry.js";
import { attempt } from "./notices.js";
import { words } from "./words.js";

const PAGE = 1000;
const MOST_SHOWN = 800;
const NEAR_END = 64;

export class Conversation {
  /** @param {string} run @param {HTMLElement} scroller */
  constructor(run, scroller) {
    this.run = run;
    /** The folder that paths are seen from. */
    this.base = "";
    this.scroller = scroller;
    this.entries = [];
    this.cursor = null;
    this.calls = new Map();
    /** Files whose change was shown with the call that made it. */
    this.changed = new Set();
    this.lastSaid = null;
    this.hiddenBefore = 0;
    this.following = false;
    this.unseen = 0;
    this.busy = false;
    this.again = false;
    this.done = false;
    this.list = element("div", {
      class: "conversation",
      role: "log",
      "aria-live": "off",
      "aria-label": words("run.conversation"),
    });
    this.earlier = element("button", {
      class: "button earlier",
      type: "button",
      hidden: true,
      onclick: () => this.showEarlier(),
    });
    this.fresh = element("button", {
      class: "button primary fresh",
      type: "button",
      hidden: true,
      onclick: () => this.toEnd(),
    });
    this.root = element("div", {}, this.earlier, this.list, this.fresh);
    this.onscroll = () => this.scrolled();
    scroller.addEventListener("scroll", this.onscroll, { passive: true });
  }

  close() {
    this.scroller.removeEventListener("scroll", this.onscroll);
    this.done = true;
  }

  /** Fetch what has come since. One request at a time, and one more if something happened meanwhile. */
  async more() {
    this.again = true;
    if (this.busy) return;
    this.busy = true;
    while (this.again && !this.done) {
      this.again = false;
      await attempt(() => this.fetchAll());
    }
    this.busy = false;
  }

  async fetchAll() {
    for (;;) {
      const asked = { run: this.run, limit: PAGE, ...(this.cursor === null ? {} : { cursor: this.cursor }) };
      const page = await perform("run/conversation", asked);
      if (this.done) return;
      this.add(page.entries);
      const stuck = page.nextCursor === this.cursor;
      this.cursor = page.nextCursor;
      this.done = page.done;
      if (page.done || stuck) return;
    }
  }

  add(entries) {
    const before = this.entries.length;
    for (const entry of entries) this.take(entry);
    const added = this.entries.length - before;
    if (!added) return;
    this.trim();
    if (this.following) this.toEnd();
    else this.unseen += before ? added : 0;
    setHidden(this.fresh, !this.unseen || this.following);
    setText(this.fresh, words("run.new_lines", { count: this.unseen }));
  }

  take(entry) {
    if (entry.kind === "file" && !entry.changes?.length && this.changed.has(entry.text)) return undefined;
    for (const change of entry.changes ?? []) this.changed.add(change.path);
    const call = entry.call ? this.calls.get(entry.call) : null;
    if (entry.kind === "answer" && call?.answer) return call.answer(entry);
    // The last words are often told once more as the result.
    const again = entry.kind === "finished" && entry.text === this.lastSaid;
    if (entry.kind === "said") this.lastSaid = entry.text;
    const view = entryView(again ? { ...entry, text: null } : entry, this.base);
    if (entry.kind === "tool" && entry.call) this.calls.set(entry.call, view);
    this.entries.push(view.root);
    this.list.append(view.root);
    return undefined;
  }

  /** Old entries leave the page, not the memory: a button brings them back. Nobody's place is moved while they read. */
  trim() {
    const shown = this.entries.length - this.hiddenBefore;
    if (shown <= MOST_SHOWN || (!this.following && this.unseen)) return;
    const leave = shown - MOST_SHOWN;
    for (const root of this.entries.slice(this.hiddenBefore, this.hiddenBefore + leave)) root.remove();
    this.hiddenBefore += leave;
    this.tellEarlier();
  }

  showEarlier() {
    const from = Math.max(0, this.hiddenBefore - MOST_SHOWN);
    const height = this.scroller.scrollHeight;
    this.list.prepend(...this.entries.slice(from, this.hiddenBefore));
    this.hiddenBefore = from;
    this.scroller.scrollTop += this.scroller.scrollHeight - height;
    this.tellEarlier();
  }

  tellEarlier() {
    setHidden(this.earlier, !this.hiddenBefore);
    setText(this.earlier, words("run.earlier", { count: this.hiddenBefore }));
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.following = scrollHeight - scrollTop - clientHeight < NEAR_END;
    if (!this.following) return;
    this.unseen = 0;
    setHidden(this.fresh, true);
  }

  follow() {
    this.following = true;
    this.toEnd();
  }

  toEnd() {
    this.unseen = 0;
    setHidden(this.fresh, true);
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }
}
