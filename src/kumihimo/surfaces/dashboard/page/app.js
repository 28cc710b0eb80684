/** The start of the page, and which view is open. */

import { perform, whenSignedOut } from "./api.js";
import { applyTheme } from "./choices.js";
import { connect, reconnectWhenSeen, signedOut } from "./connection.js";
import { followEvents } from "./fetched.js";
import { buildFrame } from "./frame.js";
import { listenToKeys } from "./keys.js";
import { attempt } from "./notices.js";
import { place } from "./router.js";
import { store } from "./store.js";
import { fetchViews, VIEWS } from "./views.js";
import { chooseLanguage } from "./words.js";

let frame = null;
/** @type {{update: () => void, close?: () => void, rename?: (place: any) => boolean} | null} */
let view = null;
let opened = null;

async function openPlace() {
  const to = place();
  const name = to.name in VIEWS ? to.name : "now";
  // A view may take a change of its own address itself: a panel is opened and the board stays.
  if (view && opened === name && view.rename?.(to)) return;
  const { open } = await VIEWS[name].load().catch(notThere);
  if (place().name !== to.name && place().name in VIEWS) return;
  const again = opened !== null;
  view?.close?.();
  opened = name;
  frame.main.replaceChildren();
  frame.main.scrollTop = 0;
  frame.main.dataset.view = name;
  view = open(frame.main, to);
  // Whoever walks by keyboard goes on in the new content, not at the top of the page.
  if (again && document.activeElement === document.body) frame.main.focus({ preventScroll: true });
  frame.update(store);
  view.update();
}

/** A file of ours that does not come: whoever is not signed in gets none, and a server that is away has none. */
async function notThere(error) {
  await perform("board/status");
  throw error;
}

/** Everything anew, in another language. */
function rebuild() {
  view?.close?.();
  view = null;
  frame = buildFrame(rebuild);
  document.getElementById("frame").replaceChildren(frame.root);
  return attempt(openPlace);
}

function draw() {
  frame.update(store);
  view?.update();
}

async function start() {
  applyTheme();
  await chooseLanguage();
  whenSignedOut(signedOut);
  await rebuild();
  store.subscribe(draw);
  followEvents();
  connect();
  reconnectWhenSeen();
  listenToKeys();
  fetchViews();
  addEventListener("hashchange", () => attempt(openPlace));
}

start();
