"""What `kumi doctor` says, in every language we speak."""

from __future__ import annotations

from typing import Literal

FINDINGS: dict[str, dict[Literal["en", "ja"], str]] = {
    "sqlite_old": {
        "en": "SQLite {found} can lose commits; {needed} or newer is needed. Update it: `pip install --upgrade apsw`.",
        "ja": "SQLite {found} はコミットを失うことがあります。{needed} 以上が必要です。更新: `pip install --upgrade apsw`。",
    },
    "made_later": {"en": "{path} (made when it is first needed)", "ja": "{path}(必要になった時に作成)"},
    "folder_unwritable": {
        "en": "{path} can't be written: change its owner, or set KUMI_HOME to a folder of yours.",
        "ja": "{path} に書き込めません。所有者を変えるか、KUMI_HOME に自分のフォルダーを設定してください。",
    },
    "readable": {
        "en": "{path} can be read by others: `kumi doctor --fix`, or `chmod {mode} {path}`.",
        "ja": "{path} は他のユーザーから読めます。`kumi doctor --fix` か `chmod {mode} {path}` を実行してください。",
    },
    "closed": {"en": "{path} is now for you alone.", "ja": "{path} を自分専用にしました。"},
    "made": {"en": "{path} was made.", "ja": "{path} を作成しました。"},
    "disk_full": {
        "en": "Only {megabytes} MB are free for {path}: runs write their output there. Make room.",
        "ja": "{path} の空き容量は {megabytes} MB だけです。実行の出力もここに書かれます。空きを作ってください。",
    },
    "channel_off": {
        "en": "Notices by {channel} are off: {problem}. Mend [notifications] in your config.toml.",
        "ja": "{channel} による通知は無効です: {problem}。config.toml の [notifications] を直してください。",
    },
    "disk": {"en": "{gigabytes} GB free", "ja": "空き {gigabytes} GB"},
    "database_broken": {
        "en": "{database} is damaged: {problem}. Restore a backup: `kumi --db NEW.db db restore FILE`.",
        "ja": "{database} が壊れています: {problem}。バックアップから戻してください: `kumi --db NEW.db db restore FILE`。",
    },
    "database_large": {
        "en": "{database} (schema {version}; {megabytes} MB, too large to be read through here: `kumi db check` does it)",
        "ja": "{database}(スキーマ {version}。{megabytes} MB と大きいので、全体の検査は `kumi db check` で)",
    },
    "database_fine": {"en": "{database} (schema {version})", "ja": "{database}(スキーマ {version})"},
    "schema_old": {
        "en": "{database} has schema {found}; the next command brings it to {version}. Keep a copy first: see `kumi db backup`.",
        "ja": "{database} のスキーマは {found} です。次のコマンドで {version} になります。先に `kumi db backup` で写しを。",
    },
    "schema_raised": {
        "en": "{database} was brought from schema {found} to {version}.",
        "ja": "{database} のスキーマを {found} から {version} にしました。",
    },
    "clock_behind": {
        "en": "This clock is {seconds} s behind the newest event of the board: leases and sessions would end late. "
        "Set it: `timedatectl set-ntp true`.",
        "ja": "時計がボードの最新イベントより {seconds} 秒遅れています。リースやセッションの期限が狂います。"
        "合わせてください: `timedatectl set-ntp true`。",
    },
    "runs_nowhere": {
        "en": "{count} queued runs wait for a host that is not there, the first is {run}: it needs the client {client}, the "
        "project {project} and, if it is pinned, the host {pin}. `kumi host ls` shows what there is; `kumi run stop` gives it up.",
        "ja": "{count} 件の実行が、条件に合うホストを待っています。最初は {run}: クライアント {client}、プロジェクト {project}、"
        "固定先 {pin} が必要です。`kumi host ls` で確認し、あきらめるなら `kumi run stop` を。",
    },
    "events_kept": {
        "en": "overtaken events are removed after {days} days, by `kumi doctor --fix`",
        "ja": "古くなったイベントは {days} 日後に `kumi doctor --fix` で消えます",
    },
    "events_folded": {
        "en": "{count} overtaken events older than {days} days were removed.",
        "ja": "{days} 日より古い、上書き済みのイベント {count} 件を消しました。",
    },
    "git_missing": {
        "en": "git is not on PATH: workers and merges need it. Install git {needed} or newer.",
        "ja": "git が PATH にありません。ワーカーとマージに必要です。git {needed} 以上を入れてください。",
    },
    "git_old": {
        "en": "git {found} is too old for worktrees and merges: install {needed} or newer.",
        "ja": "git {found} はワークツリーとマージには古すぎます。{needed} 以上を入れてください。",
    },
    "identity_missing": {
        "en": "git does not know who you are, so agents can't commit: `git config --global user.name 'Your Name'` and "
        "`git config --global user.email you@example.com`. `kumi doctor --fix` in a project makes do with '{stand_in}' there.",
        "ja": "git に名前が設定されていないため、エージェントがコミットできません: `git config --global user.name '名前'` と "
        "`git config --global user.email you@example.com`。プロジェクト内での `kumi doctor --fix` は「{stand_in}」で代用します。",
    },
    "identity_set": {
        "en": "Commits in {folder} are made as '{stand_in}' from now on. Once git knows your own name, `kumi doctor --fix` takes "
        "that back.",
        "ja": "{folder} のコミットは今後「{stand_in}」名義になります。自分の名前を設定した後の `kumi doctor --fix` で元に戻ります。",
    },
    "identity_stands_in": {
        "en": "Commits in {folder} are made as '{stand_in}', because git does not know your name. Set it: "
        "`git config --global user.name 'Your Name'` and `git config --global user.email you@example.com`.",
        "ja": "git に名前が設定されていないため、{folder} のコミットは「{stand_in}」名義です。設定してください: "
        "`git config --global user.name '名前'` と `git config --global user.email you@example.com`。",
    },
    "identity_covered": {
        "en": "Commits in {folder} are made as '{stand_in}' although git knows your name: `kumi doctor --fix`.",
        "ja": "git に名前があるのに、{folder} のコミットは「{stand_in}」名義です: `kumi doctor --fix`。",
    },
    "identity_returned": {
        "en": "Commits in {folder} are made in your own name again.",
        "ja": "{folder} のコミットは再び自分の名義になります。",
    },
    "host_up": {"en": "up at {url} (pid {pid})", "ja": "{url} で動作中(pid {pid})"},
    "host_not_up": {"en": "not up; it is started when it is needed", "ja": "停止中(必要な時に起動します)"},
    "host_silent": {
        "en": "The host process (pid {pid}, {url}) is there and does not answer. Agents go on without it: "
        "`kumi doctor --fix` ends it, `kumi up` starts another.",
        "ja": "ホストプロセス(pid {pid}、{url})が応答しません。エージェントは動き続けます。"
        "`kumi doctor --fix` で終了、`kumi up` で起動し直してください。",
    },
    "host_ended": {
        "en": "The host process (pid {pid}) did not answer and was ended. `kumi up` starts another.",
        "ja": "応答しないホストプロセス(pid {pid})を終了しました。`kumi up` で起動し直してください。",
    },
    "host_killed": {
        "en": "{file} is left of a host process (pid {pid}) that was killed: the next `kumi up` replaces it, `kumi doctor --fix` "
        "removes it.",
        "ja": "{file} は強制終了されたホストプロセス(pid {pid})の残りです。次の `kumi up` か `kumi doctor --fix` で消えます。",
    },
    "host_tidied": {
        "en": "{file}, left of a host process (pid {pid}) that was killed, is removed.",
        "ja": "強制終了されたホストプロセス(pid {pid})の残り {file} を消しました。",
    },
    "host_locked": {
        "en": "A process (pid {pid}) holds {file} and does not say where it listens: it starts, or it hangs. Look at {log}; "
        "if it hangs, `kill {pid}`.",
        "ja": "プロセス(pid {pid})が {file} をロックしたまま、待ち受け先を示していません。起動中か、止まっています。{log} を見て、"
        "止まっていれば `kill {pid}` を。",
    },
    "port_free": {"en": "{port} is free", "ja": "{port} は空いています"},
    "port_taken": {
        "en": "{port} is taken by another program: `kumi up` takes the next free one, or say `--port N`. "
        "Who has it: `ss -ltnp 'sport = :{port}'`.",
        "ja": "{port} は別のプログラムが使用中です。`kumi up` は次の空きポートを使います(`--port N` も可)。"
        "使用者: `ss -ltnp 'sport = :{port}'`。",
    },
    "project_gone": {
        "en": "The folder of the project '{name}', {path}, is not there: bring it back, or `kumi project archive {name}`.",
        "ja": "プロジェクト「{name}」のフォルダー {path} がありません。戻すか、`kumi project archive {name}` を実行してください。",
    },
    "projects": {"en": "{count} active", "ja": "有効 {count} 件"},
    "worktrees": {"en": "{count}, none of which has to go", "ja": "{count} 件(片付けるものはありません)"},
    "worktrees_many": {
        "en": "{count}: `kumi worktree gc --dry-run` says which are not needed any more",
        "ja": "{count} 件。不要なものは `kumi worktree gc --dry-run` で分かります",
    },
    "worktrees_done": {
        "en": "The work of {names} has arrived, and nobody is in them: `kumi worktree gc`, or `kumi doctor --fix`.",
        "ja": "{names} の作業は反映済みで、使用者もいません。`kumi worktree gc` か `kumi doctor --fix` を実行してください。",
    },
    "worktrees_removed": {
        "en": "Removed, because their work has arrived: {names}. `kumi worktree restore` brings one back.",
        "ja": "作業が反映済みのため片付けました: {names}。`kumi worktree restore` で戻せます。",
    },
    "runs": {"en": "{count} under way", "ja": "進行中 {count} 件"},
    "runs_unattended": {
        "en": "{count} runs wait or are under way and no host process follows them: `kumi up --detach`, or `kumi doctor --fix`.",
        "ja": "{count} 件の実行を追うホストプロセスがありません。`kumi up --detach` か `kumi doctor --fix` を実行してください。",
    },
    "runs_attended": {
        "en": "A host process was started for {count} runs that nobody followed. It is up at {url}.",
        "ja": "誰も追っていなかった {count} 件の実行のために、ホストプロセスを {url} で起動しました。",
    },
    "orphans": {"en": "none", "ja": "なし"},
    "orphans_found": {
        "en": "Processes of runs that are over still live: {pids}. `kumi doctor --fix` ends them.",
        "ja": "終わった実行のプロセスが残っています: {pids}。`kumi doctor --fix` で終了します。",
    },
    "orphans_ended": {
        "en": "Ended, because their runs are over: {pids}.",
        "ja": "実行が終わっているため終了しました: {pids}。",
    },
    "orphans_survive": {
        "en": "These processes of runs that are over would not die: {pids}. `ps -o pid,stat,args -p {pids}` tells what they wait for.",
        "ja": "終わった実行のプロセスを終了できません: {pids}。`ps -o pid,stat,args -p {pids}` で状態が分かります。",
    },
    "leftovers_found": {
        "en": "{count} temporary files and folders of commands that were killed: `kumi doctor --fix` removes them.",
        "ja": "強制終了されたコマンドの一時ファイルが {count} 個あります。`kumi doctor --fix` で消えます。",
    },
    "leftovers_removed": {
        "en": "{count} temporary files and folders of commands that were killed are removed.",
        "ja": "強制終了されたコマンドの一時ファイル {count} 個を消しました。",
    },
    "hub_fine": {"en": "{count} servers, by {files}", "ja": "サーバー {count} 台({files})"},
    "hub_program_missing": {
        "en": "The server '{server}' is started by '{program}', which is not on PATH: install it, or `kumi hub rm {server}`.",
        "ja": "サーバー「{server}」を起動する「{program}」が PATH にありません。入れるか、`kumi hub rm {server}` を実行してください。",
    },
    "sandbox_missing": {
        "en": "{servers} asks for a sandbox and `bwrap` is not on PATH: `apt-get install bubblewrap`. Until then it is not started.",
        "ja": "{servers} にはサンドボックスが必要ですが、`bwrap` がありません: `apt-get install bubblewrap`。それまで起動しません。",
    },
    "sandbox_broken": {
        "en": "{servers} asks for a sandbox, which can't be had here: {problem}. It needs user namespaces: "
        "`sysctl kernel.unprivileged_userns_clone kernel.apparmor_restrict_unprivileged_userns`.",
        "ja": "{servers} のサンドボックスを作れません: {problem}。ユーザー名前空間が必要です: "
        "`sysctl kernel.unprivileged_userns_clone kernel.apparmor_restrict_unprivileged_userns`。",
    },
    "client_missing": {
        "en": "`{program}` is not on PATH: agents of this client can't run. Install it: {install}, or set [clients.{client}] command.",
        "ja": "`{program}` が PATH にないため、このクライアントのエージェントは動きません。{install} で入れるか、"
        "[clients.{client}] command を設定してください。",
    },
    "client_command_missing": {
        "en": "{program} is not there, or can't be run: see [clients.{client}] command in the settings.",
        "ja": "{program} がないか、実行できません。設定の [clients.{client}] command を確認してください。",
    },
    "client_silent": {
        "en": "{program} does not tell its version within {seconds} s: try `{program} --version`, and install it anew if it hangs.",
        "ja": "{program} が {seconds} 秒以内にバージョンを返しません。`{program} --version` を試し、止まるなら入れ直してください。",
    },
    "client_old": {
        "en": "{program} is {found}; {needed} is the oldest that is known to work. Update it: {install}.",
        "ja": "{program} は {found} です。動作を確認した最も古い版は {needed} です。更新: {install}。",
    },
    "client_logged_out": {
        "en": "{program} {found} has no login that we can see ({looked}): {login}.",
        "ja": "{program} {found} のログイン情報が見当たりません({looked})。{login}。",
    },
}


def finding_text(key: str, language: Literal["en", "ja"], /, **facts: object) -> str:
    return FINDINGS[key][language].format_map(facts)
