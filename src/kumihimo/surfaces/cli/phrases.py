"""What the command line says besides errors, in every language: confirmations, headings, hints."""

from __future__ import annotations

from kumihimo.settings import Language

SAID: dict[str, dict[Language, str]] = {
    "project_ready": {
        "en": "Project '{name}' is ready in {workingDirectory}, with {agents}.\n"
        "Next: `kumi task add 'What is to be done' --assignee coder`.",
        "ja": "プロジェクト「{name}」を {workingDirectory} に用意しました。エージェント: {agents}。\n"
        "次は `kumi task add '最初のタスク' --assignee coder` です。",
    },
    "project_added": {
        "en": "Project '{name}' added. Let agents in: `kumi project assign {name} AGENT`.",
        "ja": "プロジェクト「{name}」を追加しました。エージェントの割り当て: `kumi project assign {name} AGENT`。",
    },
    "project_saved": {
        "en": "Project '{name}' is {status}, with {agents}.",
        "ja": "プロジェクト「{name}」は {status} です。エージェント: {agents}。",
    },
    "agent_added": {
        "en": "Agent '{name}' added ({agentId}).\nIts passkey, shown only now: {passkey}",
        "ja": "エージェント「{name}」を追加しました({agentId})。\nパスキー(表示は今回だけ): {passkey}",
    },
    "agent_rekeyed": {
        "en": "Agent '{name}' has a new passkey, shown only now: {passkey}",
        "ja": "エージェント「{name}」の新しいパスキー(表示は今回だけ): {passkey}",
    },
    "agent_saved": {"en": "Agent '{name}' is {status}.", "ja": "エージェント「{name}」は {status} です。"},
    "task_added": {"en": "Task #{id} added: {title}", "ja": "タスク #{id} を追加しました: {title}"},
    "task_saved": {"en": "Task #{id} is {status}: {title}", "ja": "タスク #{id} は {status} です: {title}"},
    "context_saved": {"en": "Context of task #{id} saved.", "ja": "タスク #{id} のコンテキストを保存しました。"},
    "context_added": {"en": "Noted ({type}).", "ja": "記録しました({type})。"},
    "handoff_created": {
        "en": "Handoff {id} of task #{task} waits for {toAgent}.",
        "ja": "タスク #{task} のハンドオフ {id} を作成しました。受領待ち: {toAgent}",
    },
    "handoff_accepted": {"en": "Handoff {id} is accepted.", "ja": "ハンドオフ {id} を受領しました。"},
    "memory_saved": {"en": "Memory '{id}' is {status}: {title}", "ja": "決定事項「{id}」は {status} です: {title}"},
    "session_started": {
        "en": "Session {id} on task #{task} is running as {agent}. End it: `kumi session end {id} --exit-code 0`.",
        "ja": "タスク #{task} のセッション {id} を {agent} で開始しました。終了: `kumi session end {id} --exit-code 0`。",
    },
    "session_ended": {
        "en": "Session {id} is {status}; task #{task} is {taskStatus}.",
        "ja": "セッション {id} は {status}、タスク #{task} は {taskStatus} です。",
    },
    "hub_added": {
        "en": "Server '{name}' is behind the hub, by {file}. Try it: `kumi hub test {name}`.",
        "ja": "サーバー「{name}」をハブに追加しました({file})。確認: `kumi hub test {name}`。",
    },
    "hub_removed": {
        "en": "Server '{name}' is not behind the hub any more, by {file}.",
        "ja": "サーバー「{name}」をハブから外しました({file})。",
    },
    "hub_still_named": {
        "en": "Server '{name}' is out of {file}, but {stillIn} still names one. Take it out of there too: "
        "`kumi hub rm {name}`.",
        "ja": "サーバー「{name}」を {file} から外しましたが、{stillIn} にも同名のサーバーがあります。"
        "それも外す場合は `kumi hub rm {name}`。",
    },
    "hub_open": {
        "en": "Open this in a browser on this machine, and log in there:\n\n  {url}\n",
        "ja": "このマシンのブラウザーで次を開き、ログインしてください:\n\n  {url}\n",
    },
    "hub_logged_in": {
        "en": "Logged in at '{name}'. Running hubs use it from now on.",
        "ja": "「{name}」にログインしました。動作中のハブもこれを使います。",
    },
    "hub_logged_out": {"en": "The login at '{name}' is forgotten.", "ja": "「{name}」のログインを消しました。"},
    "hub_no_login": {
        "en": "'{name}' needs no login of ours: it is started here, or its headers let us in.",
        "ja": "「{name}」にログインは不要です(ここで起動するか、ヘッダーで認証します)。",
    },
    "hub_waiting": {
        "en": "Still waiting for {servers}: each has as long as its 'timeout' says.",
        "ja": "{servers} を待っています (それぞれの 'timeout' まで)。",
    },
    "hub_unreachable": {
        "en": "Some tools are missing here: {error}",
        "ja": "一部のツールはここにありません: {error}",
    },
    "hub_over_budget": {
        "en": "The schemas of all tools take about {schemaTokens} tokens, more than the {budget} of [hub] budget: allow fewer "
        'tools, or let agents search for them instead of `expose = "all"`.',
        "ja": "全ツールのスキーマは約 {schemaTokens} トークンで、[hub] budget の {budget} を超えています。"
        '使うツールを絞るか、`expose = "all"` をやめて検索させてください。',
    },
    "db_migrated": {
        "en": "{database} is at schema {version}.",
        "ja": "{database} のスキーマは {version} です。",
    },
    "db_checked": {"en": "{database} is whole.", "ja": "{database} に問題はありません。"},
    "db_broken": {"en": "{database} is damaged: {problems}", "ja": "{database} に問題があります: {problems}"},
    "db_copied": {"en": "{rows} rows copied to {target}.", "ja": "{rows} 行を {target} に写しました。"},
    "demo_begins": {
        "en": "Four agents build a login in two stages, in a repository of their own.\n"
        "They are scripted and speak as Claude Code, Codex and Gemini CLI do; everything else is real.\n",
        "ja": "四人のエージェントが専用のリポジトリで、二つのステージに分けてログインを作ります。\n"
        "台本どおりに Claude Code、Codex、Gemini CLI として話しますが、それ以外はすべて本物です。\n",
    },
    "demo_stage": {"en": "Stage {number}", "ja": "ステージ {number}"},
    "demo_ends": {
        "en": "\nThe same with a real CLI, in a repository of yours:\n"
        "  kumi init                      # a project with the agents planner, coder, reviewer, writer\n"
        "  kumi agent check coder         # is its CLI there, and does it answer?\n"
        "  kumi group create 'My first group'\n"
        "  kumi group run GROUP --role coder --prompt 'Say hello in hello.txt' --wait\n"
        "Or from your editor: `kumi setup claude` (or codex, cursor, gemini, vscode, windsurf), then ask it to run agents.",
        "ja": "\n本物の CLI で同じことを、自分のリポジトリで:\n"
        "  kumi init                      # planner、coder、reviewer、writer のいるプロジェクト\n"
        "  kumi agent check coder         # CLI があり、応答するか\n"
        "  kumi group create '最初のグループ'\n"
        "  kumi group run GROUP --role coder --prompt 'hello.txt に挨拶を書いて' --wait\n"
        "エディターからは `kumi setup claude`(codex、cursor、gemini、vscode、windsurf も可)の後、"
        "エージェントの実行を頼んでください。",
    },
    "group_created": {
        "en": "Group {groupId} is ready ({mode}). Next: `kumi group run {groupId} --role coder --prompt '...'`.",
        "ja": "グループ {groupId} を作成しました({mode})。次は `kumi group run {groupId} --role coder --prompt '...'` です。",
    },
    "group_deleted": {"en": "Group {groupId} is deleted.", "ja": "グループ {groupId} を削除しました。"},
    "run_stopped": {
        "en": "{agentId}: stopped {cancelled}, survivors {survivors}.",
        "ja": "{agentId}: 停止 {cancelled}、残ったプロセス {survivors}。",
    },
    "run_started": {
        "en": "{agentId} is {status} as {role}. Follow it: `kumi run logs -f {agentId}`.",
        "ja": "{agentId} は {role} として {status} です。`kumi run logs -f {agentId}` で追えます。",
    },
    "worker_waited": {
        "en": "Task {task}: the run of {agent} is {status} (exit code {exitCode}); the task is {taskStatus}.",
        "ja": "タスク {task}: {agent} は {status}(終了コード {exitCode})、タスクは {taskStatus} です。",
    },
    "worker_stopped": {
        "en": "Task {task}: the worker is {status}; the task is {taskStatus}.",
        "ja": "タスク {task}: ワーカーは {status}、タスクは {taskStatus} です。",
    },
    "worker_started": {
        "en": "Task {task}: {agent} is at work as session {id} ({executionId}). Follow it: `kumi run logs -f {executionId}`; "
        "wait for it: `kumi worker wait {task}`.",
        "ja": "タスク {task}: {agent} がセッション {id}({executionId})で作業中です。`kumi run logs -f {executionId}` で追え、"
        "`kumi worker wait {task}` で待てます。",
    },
    "worker_beside": {
        "en": "{tasks} is being worked on too, and not both have said what they write (--write): their changes may collide. "
        "`kumi run show` tells as soon as they do.",
        "ja": "{tasks} も作業中で、書き込み範囲(--write)が宣言されていないため、変更が衝突する可能性があります。"
        "衝突すると `kumi run show` に表示されます。",
    },
    "work_merged": {
        "en": "Task {task}: {status} into {target}; the task is {taskStatus}.",
        "ja": "タスク {task}: {target} へ {status}、タスクは {taskStatus} です。",
    },
    "work_not_merged": {
        "en": "Task {task}: not merged ({status}): {reason}. The task is {taskStatus}.",
        "ja": "タスク {task}: マージされていません({status}): {reason}。タスクは {taskStatus} です。",
    },
    "worktree_restored": {
        "en": "{name} is back in {path}, on {branch}.",
        "ja": "{name} を {path} に戻しました(ブランチ {branch})。",
    },
    "runner_token": {
        "en": "A token for a Runner, shown only now: {token}",
        "ja": "Runner 用トークン(表示は今回だけ): {token}",
    },
    "up": {
        "en": "Kumihimo is up at {url} (stop it with Ctrl-C or `kumi down`).",
        "ja": "Kumihimo が {url} で起動しました(Ctrl-C か `kumi down` で停止)。",
    },
    "up_detached": {
        "en": "Kumihimo is up at {url} (stop it with `kumi down`).",
        "ja": "Kumihimo が {url} で起動しました(`kumi down` で停止)。",
    },
    "up_already": {"en": "Kumihimo is already up at {url}.", "ja": "Kumihimo は既に {url} で起動しています。"},
    "down": {"en": "Kumihimo is down.", "ja": "Kumihimo を停止しました。"},
    "open": {
        "en": "The dashboard, by a link that is good once and for ten minutes: {url}",
        "ja": "ダッシュボード(このリンクは一度だけ、10 分間有効): {url}",
    },
    "no_browser": {
        "en": "No browser could be opened: open the link yourself.",
        "ja": "ブラウザーを開けませんでした。リンクを自分で開いてください。",
    },
    "draining": {
        "en": "It begins nothing more and waits up to {seconds} s for its runs. `kumi down` once more ends it at once.",
        "ja": "新しい実行は始めず、最大 {seconds} 秒、実行中のものを待ちます。もう一度 `kumi down` するとすぐに終わります。",
    },
    "not_up": {"en": "Kumihimo was not up.", "ja": "Kumihimo は起動していません。"},
    "up_failed": {
        "en": "It did not come up. Its log is {log}, and ends with: {reason}",
        "ja": "起動できませんでした。ログ {log} の最後の行: {reason}",
    },
    "nothing": {"en": "Nothing here yet.", "ja": "まだ何もありません。"},
    "more": {"en": "There is more: --cursor {nextCursor}", "ja": "続きがあります: --cursor {nextCursor}"},
    "anybody": {"en": "anybody", "ja": "誰でも"},
    "nobody": {"en": "nobody", "ja": "なし"},
    "warning": {"en": "warning", "ja": "警告"},
    "idle_agent": {
        "en": "--agent-id is for the toolset `resident` alone and changes nothing here. To be that agent: "
        "`kumi mcp serve --toolset resident --agent-id A`.",
        "ja": "--agent-id はツールセット `resident` だけのもので、ここでは何も変わりません。そのエージェントとして使うには: "
        "`kumi mcp serve --toolset resident --agent-id A`。",
    },
    "error": {"en": "error", "ja": "エラー"},
    "usage": {"en": "Try `{command} --help`.", "ja": "`{command} --help` で使い方を表示します。"},
    "no_such_verb": {
        "en": "There is no verb '{name}'.{near}",
        "ja": "「{name}」という動詞はありません。{near}",
    },
    "near": {"en": " Did you mean '{near}'?", "ja": "もしかして「{near}」ですか。"},
    "no_such_option": {
        "en": "There is no option '{name}'.{near}",
        "ja": "「{name}」というオプションはありません。{near}",
    },
    "missing": {"en": "{name} is missing.", "ja": "{name} がありません。"},
    "interrupted": {"en": "Interrupted.", "ja": "中断しました。"},
    "system": {
        "en": "The system refused: {reason}. Mend that, and run it again; -v says where it was.",
        "ja": "システムに拒否されました: {reason}。原因を取り除いて再実行してください。-v で詳細を表示します。",
    },
    "output": {
        "en": "The output could not be written: {reason}. What was asked for may have been done: look before you run it again.",
        "ja": "出力を書き込めませんでした: {reason}。依頼自体は実行された可能性があります。再実行の前に確認してください。",
    },
    "broken": {
        "en": "Something is wrong in Kumihimo itself: {reason}. Run again with -v for the details, and please report them.",
        "ja": "Kumihimo 自体の問題です: {reason}。-v を付けて再実行し、詳細を報告してください。",
    },
}

# Headings of tables and records in Japanese; in English the key itself, taken apart, is the heading.
HEADINGS_JA: dict[str, str] = {
    "id": "ID",
    "name": "名前",
    "status": "状態",
    "reason": "理由",
    "type": "種類",
    "title": "タイトル",
    "description": "説明",
    "priority": "優先度",
    "assignee": "担当者",
    "assigneeType": "担当者の種類",
    "dependsOn": "依存",
    "parent": "親タスク",
    "subtasks": "サブタスク",
    "workingDirectory": "フォルダー",
    "worktrees": "worktree",
    "agents": "エージェント",
    "agent": "エージェント",
    "client": "クライアント",
    "model": "モデル",
    "role": "役割",
    "systemPrompt": "システムプロンプト",
    "capabilities": "専門",
    "dod": "完了条件",
    "write": "書き込み可",
    "exclude": "除外",
    "retry": "やり直し",
    "createdAt": "作成",
    "updatedAt": "更新",
    "acceptedAt": "受領",
    "startedAt": "開始",
    "endedAt": "終了",
    "exitCode": "終了コード",
    "signal": "シグナル",
    "dodResult": "DoD 結果",
    "artifacts": "成果物",
    "error": "エラー",
    "summary": "要約",
    "content": "内容",
    "category": "カテゴリ",
    "context": "コンテキスト",
    "recommendations": "推奨事項",
    "nextSteps": "次のステップ",
    "warnings": "注意点",
    "progress": "進捗",
    "findings": "発見事項",
    "blockers": "障害",
    "notes": "メモ",
    "history": "履歴",
    "fromAgent": "引き継ぎ元",
    "toAgent": "引き継ぎ先",
    "task": "タスク",
    "tasks": "タスク",
    "projects": "プロジェクト",
    "detail": "詳細",
    "version": "バージョン",
    "database": "データベース",
    "liveSessions": "有効なセッション",
    "liveRuns": "実行中",
    "taskStatus": "タスクの状態",
    "transport": "接続方式",
    "state": "状態",
    "server": "サーバー",
    "tool": "ツール",
    "tools": "ツール",
    "readOnly": "読み取り専用",
    "uri": "URI",
    "ok": "成功",
    "outcome": "結果",
    "source": "元のファイル",
    "milliseconds": "時間(ms)",
    "schemaTokens": "スキーマのトークン数",
    "calls": "呼び出し",
    "cached": "キャッシュ",
    "retries": "再試行",
    "errors": "エラー",
    "inputSchema": "入力スキーマ",
    "outputSchema": "出力スキーマ",
}


def said(key: str, language: Language) -> str:
    return SAID[key][language]


def heading(key: str, language: Language) -> str:
    if language == "ja" and key in HEADINGS_JA:
        return HEADINGS_JA[key]
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in key)
    return words.strip().capitalize() if language == "en" else words.strip()
