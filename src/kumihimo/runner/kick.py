"""The kick prompt: who the instance is, where it works, and the one thing to do first. The rest comes by the tools."""

from __future__ import annotations

from pathlib import Path

from kumihimo.engine.agents.client import SERVER_NAME
from kumihimo.runner.pair import Pair
from kumihimo.settings import Language

# For a CLI that takes its prompt as an argument, which everybody on the machine can read.
PASSKEY_VARIABLE = "KUMI_PASSKEY"

_EN = """\
You are an instance of an agent, started by a Runner. Everything you need to know comes from the tools of the MCP server \
`{server}`.

agent_id: {agent_id}
project_id: {project_id}
passkey: {passkey}
working directory: {directory}

Call the tool `authenticate` of `{server}` with agent_id, passkey and project_id now. Its answer tells your role; do what the \
`instruction` of each answer says next. When your task is done, or you can't go on, call `report_completed`: nobody knows of \
your work otherwise. Never repeat the passkey in a message, a file or a command.
"""
_JA = """\
あなたは Runner が起動した Agent Instance です。必要な情報はすべて MCP サーバー `{server}` のツールから得られます。

agent_id: {agent_id}
project_id: {project_id}
passkey: {passkey}
作業ディレクトリ: {directory}

まず `{server}` の `authenticate` を agent_id、passkey、project_id で呼び出してください。応答があなたの役割を示します。\
以後は各応答の `instruction` に従ってください。タスクが完了したとき、または続けられないときは `report_completed` を\
呼び出してください。呼び出さない限り、作業は誰にも伝わりません。\
passkey をメッセージ、ファイル、コマンドに書かないでください。
"""
_HIDDEN = {
    "en": f"in the environment variable {PASSKEY_VARIABLE}",
    "ja": f"環境変数 {PASSKEY_VARIABLE} にあります",
}


def kick_prompt(pair: Pair, passkey: str | None, directory: Path, language: Language) -> str:
    """Without a passkey it says where that is."""
    return (_JA if language == "ja" else _EN).format(
        server=SERVER_NAME,
        agent_id=pair.agent_id,
        project_id=pair.project_id,
        passkey=_HIDDEN[language] if passkey is None else passkey,
        directory=directory,
    )
