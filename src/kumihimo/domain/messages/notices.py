"""What notices say: a title in one line, and a text that may be empty."""

from __future__ import annotations

from kumihimo.domain.messages import Language

SAID: dict[str, dict[Language, tuple[str, str]]] = {
    "task_blocked": {
        "en": ("Task #{number} is blocked: {title}", "{reason}"),
        "ja": ("タスク #{number} がブロックされました: {title}", "{reason}"),
    },
    "task_done": {
        "en": ("Task #{number} is done: {title}", "{reason}"),
        "ja": ("タスク #{number} が完了しました: {title}", "{reason}"),
    },
    "task_waits_for_merge": {
        "en": (
            "Task #{number} waits to be merged: {title}",
            "Its checks passed. `kumi merge {number}` brings {branch} in.",
        ),
        "ja": (
            "タスク #{number} はマージ待ちです: {title}",
            "チェックは通りました。`kumi merge {number}` で {branch} を取り込めます。",
        ),
    },
    "handed_over": {
        "en": ("{giver} hands task #{number} to {taker}: {title}", "{summary}"),
        "ja": ("{giver} がタスク #{number} を {taker} に引き継ぎます: {title}", "{summary}"),
    },
    "run_lost": {
        "en": (
            "{role} was lost",
            "Nobody knows what became of the run {run}. `kumi run show {run}` tells what was seen.",
        ),
        "ja": ("{role} の実行が失われました", "実行 {run} の結果は不明です。`kumi run show {run}` で確認できます。"),
    },
    "run_auth": {
        "en": ("{role} is not logged in ({client})", "{reason}"),
        "ja": ("{role} はログインしていません({client})", "{reason}"),
    },
    "run_permission": {
        "en": ("{role} was refused a permission ({client})", "{reason}"),
        "ja": ("{role} に必要な権限がありません({client})", "{reason}"),
    },
    "run_rate_limited": {
        "en": ("{role} has reached the limit of its account ({client})", "{reason}"),
        "ja": ("{role} はアカウントの上限に達しました({client})", "{reason}"),
    },
    "run_failed": {
        "en": ("{role} has failed", "{reason}"),
        "ja": ("{role} が失敗しました", "{reason}"),
    },
    "run_timed_out": {
        "en": ("{role} ran out of time", "{reason}"),
        "ja": ("{role} が時間切れになりました", "{reason}"),
    },
    "run_done": {
        "en": ("{role} is done", "{summary}"),
        "ja": ("{role} が完了しました", "{summary}"),
    },
    "group_done": {
        "en": ("Group is done: {title}", "{good} of {all} runs succeeded."),
        "ja": ("グループが完了しました: {title}", "{all} 件中 {good} 件が成功しました。"),
    },
}
ANYBODY: dict[Language, str] = {"en": "anybody", "ja": "誰でも"}


def told(key: str, language: Language, **facts: object) -> tuple[str, str]:
    title, text = SAID[key][language]
    return title.format_map(facts), text.format_map(facts)
