"""A program that plays an agent CLI: it writes that CLI's stream, does what a script says, and ends as it is told.

    python -m kumihimo.testing.scripted_agent --as claude-code [--script FILE] [--log FILE] [--] ARGUMENTS OF THE REAL CLI
    python -I -S …/scripted_agent.py --as codex -- exec --json -          (the quickest start)

It plays `claude-code`, `codex`, `gemini-cli`, `opencode`, `copilot`, `qwen-code`, `cursor`, and `text` (plain lines). The prompt
is read from stdin, or from the arguments; the script is named or written in it, and the last mark counts:

    [[play:/path/to/script.json]]      [[play:{"steps": [{"do": "say", "text": "Hello."}]}]]

Without a mark it plays `--script`; without that it says hello and finishes well. `kumihimo.testing.scripts` builds scripts.

A script is an object; everything in it is optional:

    steps          what to do, in order (below)
    end            "finish" (the default): the terminal event of success. "silent": none
    exit           the exit code (0; after `fail`, what that CLI has)
    name, log      who this is, and a file of JSON lines to which it appends its start, its end and what happens between
    environment    names of variables to put in the record of the start (else those that begin with KUMI)
    session, model what it says of itself. A conversation that is resumed keeps its id
    usage, before  {"input": 100, "output": 20, "cost": 0.01}: tokens of this run, and of the conversation before it
    opening        false: not even the first line of the stream

Steps, each an object with `do`:

    say text · long_line size · lines count [every] [text]     `{n}` is the number of the line, `{t}` the monotonic time
    half_line text [seconds] [until]                            half of a line, a pause or a file, the other half
    raw text | base64 · errors text                             as it is, to stdout, to stderr
    tool name [arguments] [ok] [result]                         told, not done
    write path text [ok] [told] · edit path old new [ok] [told] done, and told as a file created or edited
    shell command [own_session]                                 done and told
    mcp tool [arguments] [seconds] [server]                     called on the server that the CLI was given; tried again so long
    use input output [cost] · note text                         tokens more; a record in the log
    sleep seconds · wait path [seconds] · touch path [text]     `wait`: until that file is there
    child [seconds] [ignore_term] [holds_output]                a process in our group that is left behind
    daemon [seconds] [ignore_term] [holds_output] [environment] one by two forks, in its own session; "clear" its environment
    ignore_term [signals] · trap_term [seconds] [exit]          TERM is not obeyed, or takes its time
    fail kind [message] [resets_in]                             rate_limit, auth or error, as that CLI says it, and the end
    exit [code] · die [signal] · hang                           the end at once, without a terminal event; or none at all

Strings may hold `{{prompt:REGEX}}`, `{{env:NAME}}`, `{{answer:TOOL.key}}`, `{{name}}`, `{{pid}}`, `{{cwd}}` and `{{session}}`.
The records of the log: `start`, `end` (`code` or `signal`), `child`, `daemon`, `mcp`, `note`, `term`; each with `name`, `pid`,
`ticks` (when the process started), `time` and `monotonic`. An exit code of 64 says that the script is wrong.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if not __spec__:
        # Started as a file, with no packages in sight: ours is three folders up.
        sys.path.insert(0, __file__.rsplit("/", 3)[0])
    from kumihimo.testing.agents.player import main

    main(sys.argv[1:])
