/** A long list of which only what is seen is on the page: every row has the same height, so the place of each is known. */

import { element } from "./element.js";

const SPARE = 12;

export class Windowed {
  /**
   * @param {HTMLElement} scroller what is scrolled
   * @param {number} height of one row, in pixels
   * @param {(item: any) => {root: HTMLElement, update: (item: any) => void}} make
   * @param {(item: any) => string} keyOf
   */
  constructor(scroller, height, make, keyOf, { tag = "ul", onnear = () => {} } = {}) {
    this.scroller = scroller;
    this.height = height;
    this.make = make;
    this.keyOf = keyOf;
    this.onnear = onnear;
    this.items = [];
    this.rows = new Map();
    this.root = element(tag, { class: "windowed" });
    this.asked = false;
    this.onscroll = () => this.soon();
    scroller.addEventListener("scroll", this.onscroll, { passive: true });
    this.watcher = new ResizeObserver(this.onscroll);
    this.watcher.observe(scroller);
  }

  close() {
    this.scroller.removeEventListener("scroll", this.onscroll);
    this.watcher.disconnect();
  }

  show(items) {
    this.items = items;
    this.root.style.height = `${items.length * this.height}px`;
    this.draw();
  }

  soon() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.draw();
    });
  }

  /** The rows between which the window stands, with some to spare above and below. */
  range() {
    const above = this.scroller.getBoundingClientRect().top - this.root.getBoundingClientRect().top;
    const first = Math.floor(above / this.height) - SPARE;
    const count = Math.ceil(this.scroller.clientHeight / this.height) + 2 * SPARE;
    return [Math.max(0, first), Math.min(this.items.length, Math.max(0, first + count))];
  }

  draw() {
    const [from, to] = this.range();
    const wanted = new Map();
    for (let place = from; place < to; place += 1) wanted.set(this.keyOf(this.items[place]), place);
    for (const [key, row] of this.rows) {
      if (wanted.has(key) || this.isHeld(key, row)) continue;
      row.root.remove();
      this.rows.delete(key);
    }
    let after = null;
    for (const [key, place] of wanted) {
      const row = this.place(key, place);
      // The order on the page is the order of the list, for who walks by keyboard or listens.
      if (after && after.nextElementSibling !== row.root) after.after(row.root);
      after = row.root;
    }
    if (to >= this.items.length - SPARE) this.onnear();
  }

  /** A row that has the focus stays when it is scrolled away: who walks by keyboard would be thrown out otherwise. */
  isHeld(key, row) {
    return row.root.contains(document.activeElement) && this.items.some((item) => this.keyOf(item) === key);
  }

  place(key, at) {
    let row = this.rows.get(key);
    if (!row) {
      row = this.make(this.items[at]);
      this.rows.set(key, row);
      this.root.append(row.root);
    }
    row.update(this.items[at]);
    const top = `${at * this.height}px`;
    if (row.root.style.top !== top) row.root.style.top = top;
    return row;
  }
}
