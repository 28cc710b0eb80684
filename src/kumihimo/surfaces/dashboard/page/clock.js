/** One clock for the page: what shows a running time is told once a second, and nothing else is drawn for it. */

/** @type {Map<Element, () => void>} */
const hands = new Map();

/** Call `tell` now and every second for as long as `node` is on the page. */
export function tick(node, tell) {
  hands.set(node, tell);
  tell();
}

export function still(node) {
  hands.delete(node);
}

setInterval(() => {
  for (const [node, tell] of hands) {
    if (node.isConnected) tell();
    else hands.delete(node);
  }
}, 1000);
