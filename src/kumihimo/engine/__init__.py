"""Leaves that touch the machine: agent CLIs, processes, git worktrees.

Knows the domain and nothing of the store: what it learns it returns. A new agent CLI is one file in `agents/`.
"""
