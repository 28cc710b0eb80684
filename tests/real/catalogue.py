"""The model as Codex is to see it. The tools that Codex offers depend on the model; for a name that it does not know, it has no
`apply_patch`. So it is told of ours: a plain shell, patches, and the tools of MCP servers without a search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MODEL = "scripted"


def write(folder: Path) -> Path:
    """The file for `model_catalog_json`."""
    path = folder / "codex-models.json"
    path.write_text(json.dumps({"models": [_entry()]}), "utf-8")
    return path


def _entry() -> dict[str, Any]:
    effort = {"effort": "medium", "description": "the only one"}
    return {
        "slug": MODEL, "display_name": MODEL, "description": "Says what a scenario says.", "base_instructions": "Be scripted.",
        "priority": 1, "visibility": "list", "supported_in_api": True,
        "default_reasoning_level": "medium", "supported_reasoning_levels": [effort], "default_reasoning_summary": "none",
        "supports_reasoning_summaries": False, "support_verbosity": False,
        "shell_type": "unified_exec", "apply_patch_tool_type": "freeform", "supports_search_tool": False,
        "supports_parallel_tool_calls": False, "experimental_supported_tools": [], "input_modalities": ["text"],
        "truncation_policy": {"mode": "tokens", "limit": 10000},
        "context_window": 200000, "max_context_window": 200000, "effective_context_window_percent": 95,
    }  # fmt: skip
