"""What `kumi status --watch` says, in every language."""

from __future__ import annotations

from kumihimo.settings import Language

_SAID: dict[str, dict[Language, str]] = {
    "needs_you": {"en": "NEEDS YOU ({count})", "ja": "要対応 ({count})"},
    "working": {"en": "WORKING ({count})", "ja": "作業中 ({count})"},
    "done": {
        "en": "DONE TODAY  runs {succeeded} ✓ {failed} ✕{median}  tasks {tasks}",
        "ja": "本日完了  実行 {succeeded} ✓ {failed} ✕{median}  タスク {tasks}",
    },
    "median": {"en": "  median {length}", "ja": "  中央値 {length}"},
    "nothing_needs_you": {"en": "Nothing needs you.", "ja": "対応が必要なものはありません。"},
    "nobody_works": {
        "en": "Nobody is at work. `kumi group run` or `kumi worker run` starts somebody.",
        "ja": "作業中のエージェントはいません。`kumi group run` か `kumi worker run` で開始できます。",
    },
    "task": {"en": "blocked", "ja": "ブロック"},
    "merge": {"en": "waits to be merged", "ja": "マージ待ち"},
    "run": {"en": "failed", "ja": "失敗"},
    "handoff": {"en": "handed over", "ja": "引き継ぎ"},
    "stage": {"en": "stage {stage} of {stages}", "ja": "ステージ {stage}/{stages}"},
    "on_task": {"en": "task #{task}", "ja": "タスク #{task}"},
    "tools": {"en": "tools {count}", "ja": "ツール {count}"},
    "tokens": {"en": "{count} tok", "ja": "{count} トークン"},
    "keys": {"en": "q ends", "ja": "q で終了"},
}


def said(key: str, language: Language, **facts: object) -> str:
    return _SAID[key][language].format_map(facts)
