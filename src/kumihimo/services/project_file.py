"""The settings file of a repository, as `kumi init` writes it."""

from __future__ import annotations

import msgspec


def project_file_text(name: str) -> str:
    """The file that `kumi init` writes: every setting that a repository may have, to be uncommented."""
    return f"""\
# Settings of this repository for Kumihimo. They win over the user's own config.toml.

[project]
name = {msgspec.json.encode(name).decode()}

# max_concurrent = 10          # runs at once on one host
# silence_timeout_ms = 1800000  # a run that says nothing for so long is ended
# check_timeout_ms = 600000     # a command of a definition of done may take so long

# [agents.coder]
# client = "codex"
# dod = ["make test"]          # commands that must pass before work is done

# [clients.claude-code]
# args = ["--max-turns", "50"]  # appended to the command line

# [runner.agents."agt_..."]      # whom `kumi runner` starts
# passkey = "${{CODER_PASSKEY}}"

# [hub]                          # other MCP servers: mcp.config.yaml or .mcp.json beside this file
# expose = "all"                 # agents see their tools themselves; "search" lets them look for tools

# [retention]
# events_days = 30
"""
