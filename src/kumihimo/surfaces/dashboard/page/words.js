/** Texts that a person reads, in the language of the page. */

import english from "./words/en.js";

const KEPT_AS = "kumi.language";
const LANGUAGES = { en: english, ja: null };
let language = "en";

/** By the switch of this page, else by the browser. English is there at once; Japanese is fetched where it is read. */
export async function chooseLanguage(wanted = kept() ?? (navigator.language.startsWith("ja") ? "ja" : "en")) {
  if (!LANGUAGES[wanted]) LANGUAGES[wanted] = (await import(`./words/${wanted}.js`)).default;
  language = wanted;
  document.documentElement.lang = wanted;
}

export async function switchLanguage() {
  const other = language === "en" ? "ja" : "en";
  localStorage.setItem(KEPT_AS, other);
  await chooseLanguage(other);
}

export const currentLanguage = () => language;

/**
 * The text of a key with `{name}` filled in. A key that nobody has translated shows as itself. Of what is counted there may be
 * a text for one, under `KEY.one`; Japanese needs none.
 * @param {string} key
 * @param {Record<string, string|number>} [facts]
 */
export function words(key, facts = {}) {
  const own = LANGUAGES[language];
  const text = (facts.count === 1 ? own[`${key}.one`] : null) ?? own[key] ?? english[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => facts[name] ?? whole);
}

function kept() {
  const word = localStorage.getItem(KEPT_AS);
  return word in LANGUAGES ? word : null;
}
