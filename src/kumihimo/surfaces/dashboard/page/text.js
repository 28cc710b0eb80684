/** What agents write, made harmless to look at: escapes of terminals are dropped, what can't be seen is named. */

const ESCAPES =
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]/g;
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
// Controls of direction can turn a line around, so that it reads as something else.
const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Several lines of text. */
export function clean(text) {
  return String(text ?? "")
    .replace(ESCAPES, "")
    .replace(/\r\n?/g, "\n")
    .replace(CONTROLS, "")
    .replace(DIRECTIONS, (sign) => `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** The same in one line of at most so many characters. */
export function line(text, most = 300) {
  const one = clean(String(text ?? "").slice(0, most * 4))
    .replace(/\s+/g, " ")
    .trim();
  return one.length > most ? `${one.slice(0, most - 1)}…` : one;
}

/** A path as seen from the folder of the run. */
export function within(base, path) {
  const whole = clean(path);
  return base && whole.startsWith(`${base}/`) ? whole.slice(base.length + 1) : whole;
}
