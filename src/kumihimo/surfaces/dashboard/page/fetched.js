/** What the stream does not carry, fetched when the page opens and again when an event says that it has changed. */

import { perform } from "./api.js";
import { store } from "./store.js";

const MOST_SESSIONS = 500;

/** At most one request of a kind is under way, and one more follows if something happened meanwhile. */
function once(fetchIt) {
  let running = null;
  let again = false;
  const run = async () => {
    do {
      again = false;
      await fetchIt();
    } while (again);
  };
  return () => {
    if (running) again = true;
    else
      running = run()
        .catch(quietly)
        .finally(() => (running = null));
    return running;
  };
}

/** A server that is away is told of by the bar; what was fetched before stays. */
function quietly(error) {
  if (error.status === undefined) throw error;
}

export const fetchStatus = once(async () => store.set({ status: await perform("board/status") }));
export const fetchRoles = once(async () => store.set({ roles: (await perform("role/list")).roles }));
export const fetchHandoffs = once(async () => store.set({ handoffs: (await perform("handoff/pending")).handoffs }));
export const fetchProjects = once(async () => {
  store.set({ projects: (await perform("project/list")).projects });
  await fetchSessions();
});

const fetchSessions = once(async () => {
  const sessions = new Map();
  for (const project of store.projects.filter((one) => one.status !== "archived")) {
    const page = await perform("session/list", { limit: MOST_SESSIONS }, { project: project.projectId });
    for (const session of page.sessions) sessions.set(session.executionId, session);
  }
  store.set({ sessions });
});

const FETCHES = {
  snapshot: [fetchStatus, fetchRoles, fetchHandoffs, fetchProjects],
  "server:startup": [fetchStatus, fetchRoles, fetchHandoffs, fetchProjects],
  "config:updated": [fetchStatus, fetchRoles, fetchProjects],
  "healthcheck:role_complete": [fetchRoles],
  "healthcheck:complete": [fetchRoles],
  handoff: [fetchHandoffs],
  session: [fetchSessions],
  project: [fetchProjects],
  task: [fetchSessions],
};

/** Fetch what each event makes stale. */
export function followEvents() {
  store.hear((type, data) => {
    const due = FETCHES[type] ?? FETCHES[type.split(":")[0]] ?? [];
    for (const fetchIt of due) fetchIt();
    if (type === "agent:created" && !data.groupId) fetchSessions();
    if (type === "agent:completed" && data.failureReason === "rate_limited") fetchStatus();
  });
}
