"""What `kumi setup` says, in every language."""

from __future__ import annotations

from kumihimo.settings import Language

SAID: dict[str, dict[Language, str]] = {
    "added": {
        "en": "{client} now has the MCP server '{server}': {path}",
        "ja": "{client} に MCP サーバー「{server}」を追加しました: {path}",
    },
    "replaced": {
        "en": "{client} had another MCP server '{server}': {keys} changed, the rest of it was kept: {path}",
        "ja": "{client} には別の MCP サーバー「{server}」がありました。{keys} を変え、ほかは残しました: {path}",
    },
    "same": {
        "en": "{client} has the MCP server '{server}' already; nothing was written: {path}",
        "ja": "{client} には MCP サーバー「{server}」がもうあります。何も書いていません: {path}",
    },
    "would_change": {
        "en": "This would be merged into {path}; nothing was written.",
        "ja": "{path} に次を加えることになります。何も書いていません。",
    },
    "backup": {
        "en": "The file as it was before the first change: {backup}",
        "ja": "最初に変更する前のファイル: {backup}",
    },
    "next_claude_repo": {
        "en": "Next: restart Claude Code in this repository and approve the server; `claude mcp list` shows it.",
        "ja": "次は、このリポジトリで Claude Code を再起動し、サーバーを承認します。`claude mcp list` で確かめられます。",
    },
    "next_claude_user": {
        "en": "Next: restart Claude Code; `claude mcp list` shows the server.",
        "ja": "次は、Claude Code を再起動します。`claude mcp list` で確かめられます。",
    },
    "next_codex_repo": {
        "en": "Next: restart Codex in this repository and trust the folder; `codex mcp list` shows the server.",
        "ja": "次は、このリポジトリで Codex を再起動し、フォルダーを信頼します。`codex mcp list` で確かめられます。",
    },
    "next_codex_user": {
        "en": "Next: restart Codex; `codex mcp list` shows the server.",
        "ja": "次は、Codex を再起動します。`codex mcp list` で確かめられます。",
    },
    "next_cursor_repo": {
        "en": "Next: restart Cursor in this repository and switch the server on in its MCP settings.",
        "ja": "次は、このリポジトリで Cursor を再起動し、MCP の設定でサーバーを有効にします。",
    },
    "next_cursor_user": {
        "en": "Next: restart Cursor and switch the server on in its MCP settings.",
        "ja": "次は、Cursor を再起動し、MCP の設定でサーバーを有効にします。",
    },
    "next_gemini_repo": {
        "en": "Next: restart Gemini CLI in the folder of this file and trust it; `gemini mcp list` shows the server.",
        "ja": "次は、このファイルのフォルダーで Gemini CLI を再起動し、信頼します。`gemini mcp list` で確かめられます。",
    },
    "next_gemini_user": {
        "en": "Next: restart Gemini CLI in a folder that it trusts; `gemini mcp list` shows the server.",
        "ja": "次は、信頼済みのフォルダーで Gemini CLI を再起動します。`gemini mcp list` で確かめられます。",
    },
    "next_vscode_repo": {
        "en": "Next: reload VS Code in this repository and start the server: `MCP: List Servers`.",
        "ja": "次は、このリポジトリで VS Code を再読み込みし、`MCP: List Servers` からサーバーを起動します。",
    },
    "next_vscode_user": {
        "en": "Next: reload VS Code and start the server: `MCP: List Servers`.",
        "ja": "次は、VS Code を再読み込みし、`MCP: List Servers` からサーバーを起動します。",
    },
    "next_windsurf_user": {
        "en": "Next: restart Windsurf; its MCP settings show the server.",
        "ja": "次は、Windsurf を再起動します。MCP の設定で確かめられます。",
    },
    "comment": {
        "en": "Warning: {path}:{line} has a comment, and {client} does not read a file with comments. Remove them.",
        "ja": "警告: {path}:{line} にコメントがあります。{client} はコメントのあるファイルを読めません。取り除いてください。",
    },
    "trailing_comma": {
        "en": "Warning: {path}:{line} has a comma behind the last item, and {client} does not read such a file. Remove it.",
        "ja": "警告: {path}:{line} の最後の要素の後にコンマがあります。{client} はそのファイルを読めません。取り除いてください。",
    },
    "not_on_path": {
        "en": "Warning: `{program}` is not on PATH, and that is where {client} will look for it.",
        "ja": "警告: `{program}` が PATH にありません。{client} は PATH から探します。",
    },
    "unreadable": {
        "en": "{path}:{line}: {reason}. The file was left as it is; mend that line and run this again.",
        "ja": "{path}:{line}: {reason}。ファイルはそのままです。その行を直して、もう一度実行してください。",
    },
    "unwritable": {
        "en": "{path} can't be written: {reason}. Nothing was changed; "
        "mend that, or use --dry-run and paste what it prints.",
        "ja": "{path} に書き込めません: {reason}。何も変えていません。原因を直すか、--dry-run の出力を貼り付けてください。",
    },
    "busy": {
        "en": "{path} was changed by another program again and again. Nothing was changed; close {client} and run this again.",
        "ja": "{path} をほかのプログラムが書き続けています。何も変えていません。{client} を閉じて、もう一度実行してください。",
    },
    "by_hand": {
        "en": "{path} is written in a way that can't be edited safely. It was left as it is; put this in by hand:\n{snippet}",
        "ja": "{path} は安全に編集できない書き方です。ファイルはそのままです。手で次を加えてください:\n{snippet}",
    },
    "no_such_scope": {
        "en": "{client} has no MCP configuration for a repository; its scopes: {scopes}.",
        "ja": "{client} にはリポジトリ用の MCP 設定がありません。使える範囲: {scopes}。",
    },
    "no_home": {
        "en": "There is no home folder to write to: set HOME.",
        "ja": "書き込み先のホームフォルダーがありません。HOME を設定してください。",
    },
    "not_utf8": {"en": "this is not UTF-8", "ja": "UTF-8 ではありません"},
    "not_a_table": {
        "en": "there should be a table of names and values here",
        "ja": "ここには名前と値の表があるはずです",
    },
    "too_deep": {"en": "this is nested too deeply", "ja": "入れ子が深すぎます"},
    "json_more": {"en": "there is more after the end of the document", "ja": "文書の終わりの後に続きがあります"},
    "json_comment": {"en": "a comment is not closed", "ja": "コメントが閉じていません"},
    "json_value": {"en": "a value was expected here", "ja": "ここには値があるはずです"},
    "json_key": {
        "en": "a name in double quotes was expected here",
        "ja": "ここには二重引用符で囲んだ名前があるはずです",
    },
    "json_colon": {"en": "a colon was expected here", "ja": "ここにはコロンがあるはずです"},
    "json_comma": {"en": "a comma was expected before this", "ja": "この前にコンマがあるはずです"},
    "json_open": {"en": "a bracket was opened and never closed", "ja": "括弧が閉じていません"},
    "json_string": {
        "en": "this text in quotes is not closed or has a character that must be escaped",
        "ja": "引用符で囲んだ文字列が閉じていないか、エスケープが必要な文字があります",
    },
}


def said(key: str, language: Language) -> str:
    return SAID[key][language]
