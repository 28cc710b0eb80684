/** The stream of events: it comes back by itself, from where it was, and the store keeps what it had meanwhile. */

import { perform } from "./api.js";
import { store } from "./store.js";

const SIGNED_OUT = 4401;
const TOO_SLOW = 4408;
const UNKNOWN_CURSOR = 4409;
const FIRST_DELAY = 400;
const LONGEST_DELAY = 15_000;

let cursor = null;
let failures = 0;
let socket = null;
let timer = 0;

export function connect() {
  clearTimeout(timer);
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const from = cursor === null ? "" : `?cursor=${encodeURIComponent(cursor)}`;
  const mine = (socket = new WebSocket(`${scheme}://${location.host}/ws${from}`));
  let opened = false;
  mine.onopen = () => {
    opened = true;
    store.set({ connection: { state: "live", retryAt: null } });
  };
  mine.onmessage = (message) => {
    failures = 0;
    take(JSON.parse(message.data));
  };
  mine.onclose = (event) => {
    if (socket === mine) closed(event.code, opened);
  };
}

function take(message) {
  // The first message is a snapshot where there was no cursor, and replaces whatever was there.
  store.apply(message);
  if (message.cursor !== undefined && message.cursor !== null) cursor = message.cursor;
}

async function closed(code, opened) {
  if (code === SIGNED_OUT) return signedOut();
  if (code === UNKNOWN_CURSOR) cursor = null;
  if (code === TOO_SLOW || code === UNKNOWN_CURSOR) return connect();
  const delay = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** failures) * (0.5 + Math.random() / 2);
  failures += 1;
  store.set({ connection: { state: "away", retryAt: Date.now() + delay } });
  timer = setTimeout(connect, delay);
  // A door that is closed without a word and one that nobody stands behind look the same to a WebSocket.
  if (!opened) await perform("board/status").catch(() => {});
}

/** A new login is needed: trying again would never help. */
export function signedOut() {
  clearTimeout(timer);
  store.set({ connection: { state: "signed-out", retryAt: null } });
}

/** Now, rather than when the time has come. */
export function reconnect() {
  failures = 0;
  connect();
}

/** Somebody looks again, or the network is back: that is worth a try at once, also after a new login elsewhere. */
export function reconnectWhenSeen() {
  const tryAgain = () => {
    if (!document.hidden && ["away", "signed-out"].includes(store.connection.state)) reconnect();
  };
  document.addEventListener("visibilitychange", tryAgain);
  addEventListener("online", tryAgain);
}
