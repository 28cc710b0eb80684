/** The views by the name of their place. Each is fetched when it is first opened, with the style that only it needs. */

export const VIEWS = {
  now: { key: "n", load: () => import("./now.js") },
  board: { key: "b", load: () => styled(["board.css"], import("./board.js")) },
  agents: { key: "a", load: () => styled(["tables.css"], import("./agents.js")) },
  history: { key: "h", load: () => styled(["tables.css"], import("./history.js")) },
  hub: { key: "u", load: () => styled(["tables.css"], import("./hub.js")) },
  health: { key: "l", load: () => styled(["tables.css"], import("./health.js")) },
  run: { key: null, load: () => styled(["tables.css", "run.css"], import("./run.js")) },
};

const styles = new Map();

/** A view is shown when its style is there, so that nothing jumps. */
async function styled(names, module) {
  for (const name of names) {
    if (!styles.has(name)) styles.set(name, fetchStyle(name));
    await styles.get(name).catch((error) => {
      styles.delete(name);
      throw error;
    });
  }
  return module;
}

function fetchStyle(name) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = `/assets/style/${name}`;
  return new Promise((loaded, failed) => {
    link.onload = loaded;
    link.onerror = () => {
      link.remove();
      failed(new Error(`${name} did not come`));
    };
    document.head.append(link);
  });
}

/** Fetch the others when there is nothing else to do: the page then works on while the server is away. */
export function fetchViews() {
  const idle = window.requestIdleCallback ?? ((then) => setTimeout(then, 200));
  const others = () => [
    import("./actions.js"),
    import("./search.js"),
    import("./start-dialog.js"),
    import("./task-dialog.js"),
    import("./agent-dialog.js"),
    import("./keys-help.js"),
    import("./handoff-dialog.js"),
    import("./memory-dialog.js"),
  ];
  // What does not come now is asked for again when it is opened.
  idle(() => Promise.allSettled([...Object.values(VIEWS).map((view) => view.load()), ...others()]));
}
