"""What toolsets say to agents, in every language: instructions, prompts, the closing words of a session."""

from __future__ import annotations

from kumihimo.settings import Language

TEXTS: dict[str, dict[Language, str]] = {
    "instructions": {
        "en": "Kumihimo keeps the board of this project: tasks, agents, what was learnt, what was decided. "
        "Plan on it, and write down what you learn.",
        "ja": "Kumihimo はこのプロジェクトのボードです。タスク、エージェント、分かったこと、決めたことを管理します。"
        "計画はここに置き、分かったことは残してください。",
    },
    "logged_in": {
        "en": "Call get_my_task to get the details of your task.",
        "ja": "get_my_task を呼び出してタスク詳細を取得してください",
    },
    "has_task": {
        "en": "When you have completed the task, call report_completed.",
        "ja": "タスクを完了したら report_completed を呼び出してください",
    },
    "no_task": {
        "en": "No task is assigned to you at the moment. Call logout.",
        "ja": "現在割り当てられたタスクはありません",
    },
    "reported": {
        "en": "The report is kept and the session is over. You may end now.",
        "ja": "タスクが完了しました。セッションを終了します。",
    },
    "waits_for_facts": {
        "en": "The report is kept and the session is over. The task is done once its checks passed and its branch is merged.",
        "ja": "報告を記録し、セッションを終了します。チェックが通りブランチがマージされるとタスクは完了します。",
    },
    "waits_for_subtasks": {
        "en": "The report is kept and the session is over. The task has open subtasks: it is done once they are over, "
        "its checks, if it has any, passed, and its branch, if it has one, is merged.",
        "ja": "報告を記録し、セッションを終了します。終わっていないサブタスクがあります。それらが終わり、チェックがあれば通り、"
        "ブランチがあればマージされると、タスクは完了します。",
    },
    "logged_out": {"en": "The session is over.", "ja": "セッションを終了しました。"},
    "session_closed": {"en": "The session was ended.", "ja": "セッションが終了されました"},
    "session_start": {"en": "# Session start", "ja": "# セッション開始"},
    "about_you": {"en": "## About you", "ja": "## あなたの情報"},
    "name": {"en": "Name", "ja": "名前"},
    "role": {"en": "Role", "ja": "役割"},
    "capabilities": {"en": "Capabilities", "ja": "専門"},
    "your_tasks": {"en": "## Your tasks ({count})", "ja": "## 担当タスク ({count}件)"},
    "your_handoffs": {"en": "## Handoffs that wait for you ({count})", "ja": "## 未確認のハンドオフ ({count}件)"},
    "task_start": {"en": "# Start of a task: {title}", "ja": "# タスク開始: {title}"},
    "task_facts": {"en": "## The task", "ja": "## タスク"},
    "context": {"en": "## What is known", "ja": "## コンテキスト"},
    "progress": {"en": "Progress", "ja": "進捗"},
    "findings": {"en": "Findings", "ja": "発見事項"},
    "blockers": {"en": "Blockers", "ja": "障害"},
    "next_steps": {"en": "Next steps", "ja": "次のステップ"},
    "history": {"en": "## Earlier work", "ja": "## 過去の作業履歴"},
    "handoff": {"en": "## Latest handoff", "ja": "## 最新のハンドオフ"},
    "beware": {"en": "Beware", "ja": "注意"},
    "left_by_run": {"en": "## What the last run has left", "ja": "## 直近の実行の記録"},
    "begin": {
        "en": "Work on the task now. Save what you learn with save_context, and report when you are done.",
        "ja": "作業を始めてください。分かったことは save_context で残し、終わったら報告してください。",
    },
    "begin_as_resident": {
        "en": "Work on the task now. Save what you learn with add_context, and move the task with update_task_status.",
        "ja": "作業を始めてください。分かったことは add_context で残し、終わったら update_task_status で状態を更新してください。",
    },
    "handoff_template": {"en": "# Handoff of a task: {title}", "ja": "# ハンドオフ作成: {title}"},
    "handoff_guide": {
        "en": "Hand this task over with create_handoff. Write:\n- summary: what was done and what is left\n"
        "- context: what one must know to go on\n- recommendations: what you would do, and what to beware of",
        "ja": "create_handoff で引き継いでください。次を書きます。\n- summary: 済んだことと残っていること\n"
        "- context: 続けるために知るべきこと\n- recommendations: 推奨事項と注意点",
    },
    "handoff_guide_of_resident": {
        "en": "Hand this task over with create_handoff. Write:\n- summary: what was done and what is left\n"
        "- next_steps: what is to be done next, one by one\n- warnings: what to beware of",
        "ja": "create_handoff で引き継いでください。次を書きます。\n- summary: 済んだことと残っていること\n"
        "- next_steps: 次のステップを一つずつ\n- warnings: 注意点",
    },
    "context_summary": {"en": "# Context of a task: {title}", "ja": "# コンテキストサマリ: {title}"},
    "nothing_known": {"en": "Nothing was saved yet.", "ja": "まだ何も保存されていません。"},
    "session_end": {"en": "# Session end", "ja": "# セッション終了"},
    "session_end_guide": {
        "en": "Before you end: save the state of each task with add_context, hand over what others are to go on with, then call "
        "end_session with a summary of what was done, what is left, and what to beware of.",
        "ja": "終了の前に、各タスクの状態を add_context で残し、引き継ぐものは create_handoff で引き継いでください。"
        "最後に、済んだこと・残っていること・注意点を要約して end_session を呼び出してください。",
    },
}


def words(key: str, language: Language, **facts: object) -> str:
    return TEXTS[key][language].format_map(facts) if facts else TEXTS[key][language]
