/** The box to search everything with. What it finds is fetched with the first word. */

import { element } from "./element.js";
import { attempt } from "./notices.js";
import { words } from "./words.js";

export function searchBox() {
  const list = element("ul", {
    id: "hits",
    class: "hits",
    role: "listbox",
    "aria-label": words("search.hits"),
    hidden: true,
  });
  const input = element("input", {
    id: "search",
    type: "search",
    role: "combobox",
    placeholder: words("search.placeholder"),
    "aria-label": words("search.label"),
    "aria-controls": "hits",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
  });
  let search = null;
  const begin = async () => {
    const { Search } = await import("./search.js");
    search ??= new Search(input, list);
    search.ask();
  };
  input.addEventListener("input", () => attempt(begin));
  input.addEventListener("focus", () => attempt(begin));
  input.addEventListener("keydown", (event) => {
    if (search) search.press(event);
    else if (event.key === "Escape") input.blur();
  });
  input.addEventListener("blur", () => search?.hide());
  return element(
    "div",
    { class: "search", role: "search" },
    input,
    element("kbd", { "aria-hidden": "true" }, "/"),
    list,
  );
}
