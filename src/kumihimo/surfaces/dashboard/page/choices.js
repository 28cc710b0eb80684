/** What a person has chosen on this page, kept by the browser: light or dark, which project, what needs no one any more. */

const THEME = "kumi.theme";
const PROJECT = "kumi.project";
const DISMISSED = "kumi.dismissed";
const MOST_DISMISSED = 500;

export function applyTheme() {
  const chosen = localStorage.getItem(THEME);
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}

export const isDark = () =>
  (localStorage.getItem(THEME) ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

export function switchTheme() {
  localStorage.setItem(THEME, isDark() ? "light" : "dark");
  applyTheme();
}

/** The id of a project, or null for all of them. */
export const chosenProject = () => localStorage.getItem(PROJECT);

export function chooseProject(id) {
  if (id) localStorage.setItem(PROJECT, id);
  else localStorage.removeItem(PROJECT);
}

let dismissed = new Set(read());

export const isDismissed = (id) => dismissed.has(id);

export function dismiss(id) {
  dismissed.add(id);
  localStorage.setItem(DISMISSED, JSON.stringify([...dismissed].slice(-MOST_DISMISSED)));
}

function read() {
  try {
    const kept = JSON.parse(localStorage.getItem(DISMISSED) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch (error) {
    // Somebody else's writing, or half of ours: nothing is dismissed then.
    console.warn("dismissals could not be read", error);
    return [];
  }
}
