/** What an edit changed, line by line, with the numbers of the lines before and after. */

import { element } from "./element.js";
import { clean, within } from "./text.js";
import { words } from "./words.js";

// Above this many cells the middle is shown as taken out and put in as a whole.
const MOST_CELLS = 400_000;
const AROUND = 3;
const MOST_LINES = 400;

/** @typedef {{sign: " "|"-"|"+", text: string, before: number|null, after: number|null}} DiffLine */

/** @param {string|null} before @param {string|null} after @returns {DiffLine[]} */
export function compare(before, after) {
  const old = linesOf(before);
  const fresh = linesOf(after);
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < fresh.length - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  const middle = between(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail));
  const signs = [...Array(head).fill(" "), ...middle, ...Array(tail).fill(" ")];
  return numbered(signs, old, fresh);
}

const linesOf = (text) => (text ? clean(text).replace(/\n$/, "").split("\n") : []);

/** The signs of a shortest way from one to the other, by the longest common subsequence. */
function between(old, fresh) {
  if (old.length * fresh.length > MOST_CELLS) return [...old.map(() => "-"), ...fresh.map(() => "+")];
  const common = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1));
  for (let one = old.length - 1; one >= 0; one -= 1) {
    for (let other = fresh.length - 1; other >= 0; other -= 1) {
      common[one][other] =
        old[one] === fresh[other]
          ? common[one + 1][other + 1] + 1
          : Math.max(common[one + 1][other], common[one][other + 1]);
    }
  }
  const signs = [];
  for (let one = 0, other = 0; one < old.length || other < fresh.length;) {
    if (one < old.length && other < fresh.length && old[one] === fresh[other])
      (signs.push(" "), (one += 1), (other += 1));
    else if (other >= fresh.length || (one < old.length && common[one + 1][other] >= common[one][other + 1]))
      (signs.push("-"), (one += 1));
    else (signs.push("+"), (other += 1));
  }
  return signs;
}

function numbered(signs, old, fresh) {
  let before = 0;
  let after = 0;
  return signs.map((sign) => {
    const text = sign === "+" ? fresh[after] : old[before];
    if (sign !== "+") before += 1;
    if (sign !== "-") after += 1;
    return { sign, text, before: sign === "+" ? null : before, after: sign === "-" ? null : after };
  });
}

/** Only what changed and a few lines around it. */
function near(lines) {
  const kept = new Set();
  for (const [place, one] of lines.entries()) {
    if (one.sign === " ") continue;
    for (let at = place - AROUND; at <= place + AROUND; at += 1) kept.add(at);
  }
  return lines.filter((_, place) => kept.has(place));
}

/** @param {{path: string, before: string|null, after: string|null}} change */
export function diffBlock(change, base) {
  const lines = compare(change.before, change.after);
  const added = lines.filter((one) => one.sign === "+").length;
  const taken = lines.filter((one) => one.sign === "-").length;
  const shown = near(lines);
  const body = element("tbody", {}, ...shown.slice(0, MOST_LINES).map(diffLine));
  const more =
    shown.length > MOST_LINES
      ? element("p", { class: "muted" }, words("diff.more", { count: shown.length - MOST_LINES }))
      : null;
  const head = element(
    "summary",
    {},
    element("span", { class: "path" }, within(base, change.path)),
    added ? element("span", { class: "number state-done" }, `+${added}`) : null,
    taken ? element("span", { class: "number state-failed" }, `−${taken}`) : null,
  );
  return element(
    "details",
    { class: "diff", open: true },
    head,
    element("div", { class: "scroll" }, element("table", {}, body)),
    more,
  );
}

function diffLine(one) {
  const kinds = { "+": "added", "-": "removed", " ": "same" };
  return element(
    "tr",
    { class: kinds[one.sign] },
    element("td", { class: "at" }, one.before === null ? "" : String(one.before)),
    element("td", { class: "at" }, one.after === null ? "" : String(one.after)),
    element("td", { class: "sign" }, one.sign === "-" ? "−" : one.sign),
    element("td", { class: "code" }, one.text),
  );
}
