/** Elements, made and changed in place. Text only ever goes in as text: nothing here takes HTML. */

/**
 * `element("a", {href: "#/now", class: "link"}, "Now")`. A function under an `on…` name is a listener; null leaves out.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node|string|null|undefined)} children
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else setAttribute(made, name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Left out where it is null or false. Nothing is touched where it already is as it should be. */
export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else {
    const wanted = value === true ? "" : String(value);
    if (node.getAttribute(name) !== wanted) node.setAttribute(name, wanted);
  }
}

export function setText(node, text) {
  const wanted = text ?? "";
  if (node.textContent !== wanted) node.textContent = wanted;
}

export function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

/**
 * Make the children of `parent` be one per item, in order, keeping those that are there: a row that stays is never moved
 * or made anew, so that focus, scroll and open details survive.
 * @param {Element} parent
 * @param {any[]} items
 * @param {(item: any) => string} keyOf
 * @param {(item: any) => {root: HTMLElement, update: (item: any) => void}} make
 */
export function keep(parent, items, keyOf, make) {
  // What is there from the beginning does not slide in.
  const begins = !parent.keptRows;
  const rows = (parent.keptRows ??= new Map());
  const wanted = new Set(items.map(keyOf));
  for (const [key, row] of rows) {
    if (!wanted.has(key)) {
      row.root.remove();
      rows.delete(key);
    }
  }
  let place = parent.firstChild;
  for (const item of items) {
    const key = keyOf(item);
    let row = rows.get(key);
    if (!row) {
      row = make(item);
      rows.set(key, row);
      if (!begins) row.root.classList.add("slide");
    }
    row.update(item);
    if (row.root === place) place = place.nextSibling;
    else parent.insertBefore(row.root, place);
  }
}
