"""The verbs of `kumi`: which operation each one is, and how its arguments are spelled on a command line.

Arguments come from the operation; here stands only what a command line has besides: which of them need no flag, which
flags have another name, how the answer is drawn, and examples.
"""

from __future__ import annotations

from msgspec import Struct


class Verb(Struct, frozen=True):
    """`words` as typed; `bare` are the arguments without a flag, in order; `flags` are those with another name."""

    words: str
    operation: str
    bare: tuple[str, ...] = ()
    flags: dict[str, str] = {}
    hidden: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    said: str = ""
    examples: tuple[str, ...] = ()


class Way(Struct, frozen=True):
    """A verb that is a way of running, not an operation: a function in a module of this room."""

    words: str
    module: str
    help: str


GROUPS: dict[str, str] = {
    "project": "Projects: folders in which agents work.",
    "agent": "Agents: who can be given work, and how they are run.",
    "task": "Tasks: the plan of a project.",
    "context": "Contexts: what was learnt about a task.",
    "handoff": "Handoffs: from one agent to the next.",
    "memory": "The memory bank: decisions that agents are to know.",
    "session": "Sessions: runs on tasks that somebody else carries out.",
    "group": "Groups: agents that are run together, at once or stage by stage.",
    "worker": "Workers: agents on tasks, each in a worktree of its own.",
    "host": "Hosts: homes that share a board, each running agents.",
    "worktree": "Worktrees: where workers work. Nothing in one is lost by removing it.",
    "run": "Runs: what one agent does, did, or is still to do.",
    "runner": "Run a Runner: start the agents that have work, on this machine, for a server here or elsewhere.",
    "hub": "The hub: the tools of other MCP servers through one door.",
    "db": "The database under the board.",
    "mcp": "MCP: how editors and agents reach the board.",
}

# Groups that are also a way of running when no verb follows, and the module of this room that has it.
RUNNING: dict[str, str] = {"runner": "runner"}

_AGENT_FLAGS = {"capabilities": "capability"}
_PROJECT_COLUMNS = ("name", "status", "workingDirectory", "agents", "id")

VERBS: tuple[Verb, ...] = (
    Verb("init", "project.init", ("directory",), said="project_ready", examples=("kumi init", "kumi init ~/src/shop")),
    Verb("host ls", "host.list", columns=("name", "state", "running", "slots", "clients", "labels", "id"),
         examples=("kumi host ls", "kumi host ls --json")),
    Verb("search", "board.search", ("query",), columns=("kind", "id", "title", "status", "excerpt"),
         examples=("kumi search login", "kumi search 'passkey session' --json")),
    Verb("doctor", "board.doctor", columns=("name", "status", "detail"), examples=("kumi doctor", "kumi doctor --fix")),
    Verb("project add", "project.add", ("name",), {"directory": "dir"}, said="project_added",
         examples=("kumi project add shop --dir ~/src/shop",)),
    Verb("project ls", "project.list", columns=_PROJECT_COLUMNS, examples=("kumi project ls --json",)),
    Verb("project show", "project.show", ("project",), examples=("kumi project show shop",)),
    Verb("project assign", "project.assign", ("project", "agent"), said="project_saved",
         examples=("kumi project assign shop coder",)),
    Verb("project unassign", "project.unassign", ("project", "agent"), said="project_saved",
         examples=("kumi project unassign shop coder",)),
    Verb("project pause", "project.pause", ("project",), said="project_saved", examples=("kumi project pause shop",)),
    Verb("project resume", "project.resume", ("project",), said="project_saved",
         examples=("kumi project resume shop",)),
    Verb("project archive", "project.archive", ("project",), said="project_saved",
         examples=("kumi project archive shop",)),
    Verb("agent add", "agent.add", ("name",), _AGENT_FLAGS, said="agent_added",
         examples=("kumi agent add dev --client codex --role 'Writes the API' --dod 'make test'",)),
    Verb("agent ls", "agent.list", columns=("name", "status", "type", "client", "model", "role", "agentId"),
         examples=("kumi agent ls --json",)),
    Verb("agent show", "agent.show", ("agent",), examples=("kumi agent show coder",)),
    Verb("agent update", "agent.update", ("agent",), _AGENT_FLAGS, said="agent_saved",
         examples=("kumi agent update dev --model gpt-5.5 --status inactive",)),
    Verb("agent rekey", "agent.rekey", ("agent",), said="agent_rekeyed", examples=("kumi agent rekey coder",)),
    Verb("agent check", "role.check", ("agent",), columns=("name", "client", "version", "available", "healthCheck"),
         examples=("kumi agent check", "kumi agent check coder --json")),
    Verb("agent archive", "agent.archive", ("agent",), said="agent_saved", examples=("kumi agent archive dev",)),
    Verb("task add", "task.create", ("title",), said="task_added",
         examples=("kumi task add 'Log in with a passkey' --assignee coder --priority high",
                   "kumi task add 'Test it' --depends-on 1,2 --parent 1",
                   "kumi task add 'Train it' --retries 2 --retry-on lost --retry-on idle",
                   "cat spec.md | kumi task add 'Build the page' --description -")),
    Verb("task ls", "task.list", columns=("id", "status", "priority", "type", "title", "assignee", "dependsOn"),
         examples=("kumi task ls --status open", "kumi task ls --assignee coder --json")),
    Verb("task show", "task.show", ("task",), examples=("kumi task show 3",)),
    Verb("task update", "task.update", ("task",), said="task_saved",
         examples=("kumi task update 3 --status in_progress", "kumi task update 3 --depends-on 1,2 --priority critical",
                   "kumi task update 3 --retries 1")),
    Verb("task assign", "task.assign", ("task", "agent"), said="task_saved", examples=("kumi task assign 3 coder",)),
    Verb("context show", "context.show", ("task",), examples=("kumi context show 3 --history",)),
    Verb("context save", "context.save", ("task",), said="context_saved",
         examples=("kumi context save 3 --progress 'Half of it' --next-steps 'Write the tests'",)),
    Verb("context add", "context.add", ("task", "content"), said="context_added",
         examples=("kumi context add 3 'The API is rate limited' --type decision",)),
    Verb("handoff create", "handoff.create", ("task",),
         {"from_agent": "from", "to_agent": "to", "next_steps": "next-step", "warnings": "warning"}, said="handoff_created",
         examples=("kumi handoff create 3 --from coder --to reviewer --summary 'Ready for review'",
                   "kumi handoff create 3 --from-run exec_4k --to reviewer")),
    Verb("handoff accept", "handoff.accept", ("handoff",), said="handoff_accepted",
         examples=("kumi handoff accept hnd_4k --agent reviewer",)),
    Verb("handoff ls", "handoff.list", columns=("id", "task", "fromAgent", "toAgent", "summary", "createdAt"),
         examples=("kumi handoff ls --agent reviewer",)),
    Verb("memory add", "memory.add", ("memory",), said="memory_saved",
         examples=("kumi memory add linter --category tooling --title 'Ruff and nothing else'",)),
    Verb("memory ls", "memory.list", columns=("id", "status", "category", "title", "summary"),
         examples=("kumi memory ls --json",)),
    Verb("memory show", "memory.show", ("memory",), examples=("kumi memory show linter",)),
    Verb("memory preview", "memory.preview", examples=("kumi memory preview",)),
    Verb("memory update", "memory.update", ("memory",), said="memory_saved",
         examples=("kumi memory update linter --status active",)),
    Verb("memory archive", "memory.archive", ("memory",), said="memory_saved",
         examples=("kumi memory archive linter",)),
    Verb("session start", "session.start", ("task",), said="session_started",
         examples=("kumi session start 3 --agent coder",)),
    Verb("session end", "session.end", ("session",), {"artifacts": "artifact"}, said="session_ended",
         examples=("kumi session end 5 --exit-code 0 --dod-result merged",)),
    Verb("session ls", "session.list", columns=("id", "status", "task", "agent", "exitCode", "startedAt", "endedAt"),
         examples=("kumi session ls --json",)),
    Verb("group create", "group.create", ("description",), said="group_created",
         examples=("kumi group create 'Review the API'", "kumi group create 'Plan, build, review' --mode sequential")),
    Verb("group ls", "group.list", columns=("groupId", "status", "mode", "description", "createdAt"),
         examples=("kumi group ls --json",)),
    Verb("group show", "group.show", ("group",), examples=("kumi group show grp-1763251200-1a2b",)),
    Verb("group delete", "group.delete", ("group",), said="group_deleted",
         examples=("kumi group delete grp-1763251200-1a2b",)),
    Verb("run ls", "run.list", hidden=("project",),
         columns=("agentId", "status", "role", "model", "toolCallCount", "startedAt", "groupId"),
         examples=("kumi run ls --status running", "kumi run ls --group grp-1763251200-1a2b --json")),
    Verb("run stop", "run.stop", ("run",), said="run_stopped",
         examples=("kumi run stop exec_4k", "kumi run stop exec_4k --now")),
    Verb("run retry", "run.retry", ("run",), said="run_started", examples=("kumi run retry exec_4k",)),
    Verb("run continue", "run.continue", ("run", "prompt"), said="run_started",
         examples=("kumi run continue exec_4k 'Now write the tests'",)),
    Verb("worker wait", "worker.wait", ("task",), said="worker_waited",
         examples=("kumi worker wait 3", "kumi worker wait 3 --timeout 600 --json")),
    Verb("worker stop", "worker.stop", ("task",), said="worker_stopped",
         examples=("kumi worker stop 3", "kumi worker stop 3 --now")),
    Verb("worker done", "worker.done", ("task",), said="work_merged", examples=("kumi worker done 3",)),
    Verb("worker ls", "worker.list", columns=("id", "status", "task", "agent", "branch", "startedAt"),
         examples=("kumi worker ls --json",)),
    Verb("merge", "merge.run", ("work",), columns=("task", "run", "status", "target", "reason"),
         examples=("kumi merge 3", "kumi merge 3 4 5 --json", "kumi merge exec_4k")),
    Verb("worktree ls", "worktree.list", columns=("name", "state", "branch", "ahead", "holder", "path"),
         examples=("kumi worktree ls --json",)),
    Verb("worktree gc", "worktree.gc", columns=("name", "removed", "explanation", "snapshot"),
         examples=("kumi worktree gc --dry-run", "kumi worktree gc")),
    Verb("worktree restore", "worktree.restore", ("work",), said="worktree_restored",
         examples=("kumi worktree restore 3",)),
    Verb("runner token", "instance.runner_token", said="runner_token", examples=("kumi runner token --json",)),
    Verb("hub ls", "hub.servers", columns=("name", "transport", "state", "error"), examples=("kumi hub ls --json",)),
    Verb("hub tools", "hub.search", ("query",), columns=("name", "readOnly", "description"),
         examples=("kumi hub tools", "kumi hub tools 'read file'", "kumi hub tools --server github --json")),
    Verb("hub describe", "hub.describe", ("tool",), examples=("kumi hub describe github:create_issue",)),
    Verb("hub prompts", "hub.prompts", columns=("server", "name", "description"),
         examples=("kumi hub prompts --json",)),
    Verb("hub resources", "hub.resources", columns=("server", "uri", "name", "description"),
         examples=("kumi hub resources --json",)),
    Verb("hub read", "hub.read_resource", ("server", "uri"), examples=("kumi hub read docs file:///guide.md",)),
    Verb("hub add", "server.add", ("name", "command"), said="hub_added",
         examples=("kumi hub add files -- npx -y @modelcontextprotocol/server-filesystem .",
                   "kumi hub add api --url http://localhost:8080/mcp --header 'Authorization=Bearer ${API_KEY}'")),
    Verb("hub rm", "server.remove", ("name",), said="hub_removed", examples=("kumi hub rm files",)),
    Verb("hub import", "server.import", ("names",), columns=("name", "outcome", "client", "detail", "source"),
         examples=("kumi hub import --dry-run", "kumi hub import github --client claude-code")),
    Verb("hub test", "hub.test", ("server",), columns=("name", "ok", "tools", "milliseconds", "error"),
         examples=("kumi hub test", "kumi hub test github")),
    Verb("hub stats", "hub.stats", columns=("name", "state", "tools", "schemaTokens", "calls", "cached", "retries", "errors"),
         examples=("kumi hub stats --json",)),
    Verb("db migrate", "board.migrate", said="db_migrated", examples=("kumi db migrate",)),
    Verb("db check", "board.check", said="db_checked", examples=("kumi db check",)),
    Verb("db backup", "board.backup", ("file",), said="db_copied", examples=("kumi db backup ~/board.backup",)),
    Verb("db restore", "board.restore", ("file",), said="db_copied",
         examples=("kumi --db ~/new.db db restore ~/board.backup",)),
    Verb("db move", "board.move", ("target",), said="db_copied",
         examples=("kumi db move postgresql://kumi@db.example/kumi",)),
)  # fmt: skip

WAYS: tuple[Way, ...] = (
    Way("up", "up", "Run agents and serve MCP over HTTP on this machine, until it is stopped."),
    Way("down", "down", "Stop what `kumi up` started."),
    Way("status", "status", "What is going on, at a glance; with --watch as it goes on."),
    Way("open", "open", "Open the dashboard: prints a link that is good once."),
    Way("setup", "setup.command", "Let an AI client use Kumihimo: write its MCP configuration."),
    Way("mcp serve", "serve", "Serve toolsets over MCP on standard input and output."),
    Way("group run", "group_run", "Start agents of a group, all at once."),
    Way("group sequential", "group_sequential", "Start agents of a group stage by stage, from a plan."),
    Way("group wait", "group_wait", "Wait until every run of a group is done."),
    Way("run show", "run_show", "One run: what it does or did, and what is known of it."),
    Way("worker run", "worker_run", "Start a worker on a task, or print the command that does."),
    Way("session exec", "session_exec", "Start the worker of a session here; what worker run prints does this."),
    Way("hub call", "hub_call", "Call a tool of a server behind the hub."),
    Way("hub batch", "hub_batch", "Call many tools at once, from a file."),
    Way("hub login", "hub_login", "Log in at a server that asks for it, with a browser."),
    Way("hub logout", "hub_login", "Forget the login at a server."),
    Way("run logs", "run_logs", "What an agent has printed; with -f as it goes on."),
    Way("completion", "completion", "Print a completion script for bash, zsh or fish."),
    Way("demo", "demo", "Watch scripted agents work in two stages, in a folder of their own; costs nothing."),
)

# Long text: `-` is standard input, `@FILE` the content of a file.
LONG_TEXT = frozenset(
    {"description", "system_prompt", "content", "summary", "context", "recommendations", "progress", "findings",
     "blockers", "next_steps", "reason", "error", "prompt"}
)  # fmt: skip
ALIASES = {"list": "ls"}
