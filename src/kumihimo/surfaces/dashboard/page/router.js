/** Where the page is: `#/now`, `#/run/exec_…`, `#/board/tsk_…`, `#/history?role=coder`. */

/** @typedef {{name: string, rest: string, query: URLSearchParams}} Place */

/** @returns {Place} */
export function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  return { name: name || "now", rest: rest.map(decodeURIComponent).join("/"), query: new URLSearchParams(query) };
}

export function go(to) {
  if (location.hash !== to) location.hash = to;
}

/** Change the address without opening anything anew: for a panel or a filter of the view that is open. */
export function rename(to) {
  history.replaceState(null, "", to);
}

export const toRun = (id) => `#/run/${encodeURIComponent(id)}`;
export const toTask = (id) => `#/board/${encodeURIComponent(id)}`;
export const toHistory = (filters = {}) => {
  const query = new URLSearchParams(filters).toString();
  return query ? `#/history?${query}` : "#/history";
};
