/**
 * What the page knows. A snapshot fills it, events change it, and whoever listens is told once per frame.
 * Everything shown is a function of this; nothing else is remembered between two frames.
 */

// So many runs that are over are in a snapshot; where there are as many, there may be more.
const MOST_ENDED = 300;

class Store {
  constructor() {
    this.groups = new Map();
    this.runs = new Map();
    this.tasks = new Map();
    /** Work of tasks by the id of its run: which task, and whether it was merged. */
    this.sessions = new Map();
    /** Null until they were fetched. */
    this.handoffs = null;
    this.roles = [];
    this.projects = [];
    this.status = null;
    this.filled = false;
    this.cut = false;
    this.connection = { state: "connecting", retryAt: null };
    this._listeners = new Set();
    this._hearers = new Set();
    this._asked = false;
  }

  /** Told once per frame, however much has happened in it. */
  subscribe(listener) {
    this._listeners.add(listener);
    return () => this._listeners.delete(listener);
  }

  /** Told of every message by its type, at once: for what has to be fetched because of it. */
  hear(hearer) {
    this._hearers.add(hearer);
    return () => this._hearers.delete(hearer);
  }

  set(facts) {
    Object.assign(this, facts);
    this.changed();
  }

  changed() {
    if (this._asked) return;
    this._asked = true;
    const tell = () => {
      if (!this._asked) return;
      this._asked = false;
      for (const listener of [...this._listeners]) listener(this);
    };
    // A page in the background is given no frames, and still has to have its title right.
    if (document.hidden) setTimeout(tell, 500);
    else requestAnimationFrame(tell);
  }

  /** One message of the stream. */
  apply({ type, data }) {
    const take = TAKEN[type] ?? TAKEN[type.split(":")[0]];
    take?.(this, data ?? {}, type);
    for (const hearer of [...this._hearers]) hearer(type, data ?? {});
    this.changed();
  }
}

const TAKEN = {
  snapshot(store, data) {
    store.groups = new Map(data.groups.map((group) => [group.groupId, group]));
    store.runs = new Map(data.agents.map((run) => [run.agentId, run]));
    store.tasks = new Map(data.tasks.map((task) => [task.taskId, task]));
    store.filled = true;
    store.cut = data.agents.filter((run) => run.endedAt).length >= MOST_ENDED;
  },
  "group:deleted"(store, data) {
    takeGroup(store, { groupId: data.groupId, status: "deleted" });
  },
  "group:stage_advanced"(store, data) {
    takeGroup(store, { groupId: data.groupId, currentStageIndex: data.stageIndex, totalStages: data.totalStages });
  },
  "agent:result_reported"(store, data) {
    const run = store.runs.get(data.agentId);
    if (run) store.runs.set(data.agentId, { ...run, status: "resultReported", result: data });
  },
  // A note about a task, which is no task.
  "task:context_added"() {},
  group(store, data) {
    takeGroup(store, data);
  },
  agent(store, data) {
    if (data.agentId) store.runs.set(data.agentId, data);
  },
  task(store, data) {
    if (data.taskId) store.tasks.set(data.taskId, { ...store.tasks.get(data.taskId), ...data });
  },
};

function takeGroup(store, data) {
  if (data.groupId) store.groups.set(data.groupId, { ...store.groups.get(data.groupId), ...data });
}

export const store = new Store();
