/** One run, as a conversation: who and where above, time and tokens and files at the side, the words in the middle. */

import { continueRun, retryRun, stopRun } from "./actions.js";
import { perform } from "./api.js";
import { button, elapsed, idButton, stateBadge } from "./badge.js";
import { Conversation } from "./conversation.js";
import { element, setAttribute, setHidden, setText } from "./element.js";
import { loading } from "./loading.js";
import { attempt } from "./notices.js";
import { RunSide } from "./run-side.js";
import { inWords, isLive, isOpen, stateOf } from "./states.js";
import { store } from "./store.js";
import { clean, line } from "./text.js";
import { words } from "./words.js";

export function open(main, place) {
  const page = new RunPage(place.rest, main);
  main.append(page.root);
  attempt(() => loading(() => page.fetch()));
  return page;
}

class RunPage {
  constructor(id, main) {
    this.id = id;
    this.shown = null;
    this.conversation = new Conversation(id, main);
    this.side = new RunSide(id);
    this.head = runHead();
    this.outcome = outcomeBlock();
    this.prompt = promptBlock();
    this.errors = errorsBlock(id);
    this.box = continueBox(() => this.shown);
    const middle = element(
      "div",
      { class: "run-middle" },
      this.outcome.root,
      this.prompt.root,
      this.conversation.root,
      this.errors.root,
      this.box.root,
    );
    // Nothing of it is shown before it is known: there may be no such run.
    this.root = element("article", { class: "run", hidden: true }, this.head.root, this.side.root, middle);
  }

  /** A run that the stream has not told of: an old one, or a part of its id. */
  async fetch() {
    if (!store.runs.has(this.id)) {
      const run = await perform("run/show", { run: this.id });
      this.id = this.conversation.run = run.agentId;
      store.runs.set(run.agentId, run);
      store.changed();
    }
    const run = store.runs.get(this.id);
    if (isOpen(run)) this.conversation.following = true;
    this.update();
  }

  update() {
    const run = store.runs.get(this.id);
    if (!run || run === this.shown) return;
    const ended = !this.shown?.endedAt && run.endedAt;
    this.shown = run;
    setHidden(this.root, false);
    this.conversation.base = run.worktree ?? run.workingDirectory ?? "";
    this.head.update(run);
    this.outcome.update(run);
    this.prompt.update(run);
    this.side.update(run);
    this.box.update(run);
    loading(() => this.conversation.more());
    if (ended) attempt(() => this.side.fetchProof());
  }

  close() {
    this.conversation.close();
  }
}

function runHead() {
  const badge = stateBadge();
  const role = element("h1", {});
  const time = elapsed();
  const identity = element("span", {});
  const where = element("p", { class: "where" });
  const acts = element("div", { class: "acts" });
  const root = element(
    "header",
    { class: "run-head" },
    element("div", { class: "run-title" }, badge.root, role, identity, time.root, acts),
    where,
  );
  let known = null;
  const update = (run) => {
    badge.update(stateOf(run), inWords(run));
    setText(role, line(run.role, 80));
    time.update(run.startedAt, run.endedAt);
    setText(where, whereabouts(run));
    setAttribute(where, "title", clean(run.workingDirectory));
    if (known === run.status + run.endedAt) return;
    known = run.status + run.endedAt;
    identity.replaceChildren(idButton(run.agentId));
    acts.replaceChildren(
      ...(isOpen(run)
        ? [button(words("stop"), () => stopRun(store.runs.get(run.agentId)), { kind: "danger", title: "s" })]
        : [button(words("retry"), () => retryRun(run), { title: "r" })]),
    );
  };
  return { root, update };
}

/** Which model, on which host, in which folder and on which branch. */
function whereabouts(run) {
  const facts = [
    run.client,
    run.model,
    run.host,
    run.branch && `⎇ ${run.branch}`,
    run.worktree ?? run.workingDirectory,
  ];
  return facts
    .filter(Boolean)
    .map((fact) => line(fact, 160))
    .join(" · ");
}

/** What came of it: what it says of itself, and beside that what the process did. */
function outcomeBlock() {
  const said = element("p", { class: "claim" });
  const error = element("p", { class: "state-failed" });
  const root = element("section", { class: "outcome", "aria-label": words("run.outcome") }, said, error);
  const update = (run) => {
    const { result } = run;
    setText(said, result ? clean([result.summary, result.response].filter(Boolean).join("\n\n")) : "");
    setText(error, clean(result?.errorMessage ?? run.error ?? (isLive(run) ? run.warning : "") ?? ""));
    setHidden(said, !said.textContent);
    setHidden(error, !error.textContent);
    setHidden(root, said.hidden && error.hidden);
  };
  return { root, update };
}

function promptBlock() {
  const brief = element("span", { class: "muted brief" });
  const whole = element("pre", {});
  const root = element("details", { class: "prompt" }, element("summary", {}, words("run.prompt"), " ", brief), whole);
  const update = (run) => {
    setText(brief, line(run.prompt, 160));
    setText(whole, clean(run.prompt));
  };
  return { root, update };
}

/** The end of stderr, fetched when it is opened. */
function errorsBlock(id) {
  const text = element("pre", {});
  const root = element("details", { class: "errors" }, element("summary", {}, words("run.errors")), text);
  root.addEventListener("toggle", () => {
    if (!root.open) return;
    attempt(async () => {
      const told = await perform("run/errors", { run: id });
      setText(text, clean(told.text) || words("run.no_errors"));
    });
  });
  return { root };
}

/** A box to go on with: another prompt in the same conversation. */
function continueBox(current) {
  const text = element("textarea", {
    rows: "2",
    placeholder: words("continue.placeholder"),
    "aria-label": words("continue.label"),
  });
  const send = async () => {
    if (!text.value.trim()) return text.focus();
    const made = await continueRun(current(), text.value);
    if (made) text.value = "";
    return undefined;
  };
  const root = element(
    "form",
    { class: "continue", hidden: true },
    text,
    button(words("continue"), send, { kind: "primary" }),
  );
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
  });
  return { root, update: (run) => setHidden(root, isOpen(run)) };
}
