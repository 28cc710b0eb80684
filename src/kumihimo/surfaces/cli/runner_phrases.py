"""What `kumi runner` says, in every language."""

from __future__ import annotations

from collections.abc import Mapping

from kumihimo.settings import Language
from kumihimo.surfaces.cli import drawing

_SAID: dict[str, dict[Language, str]] = {
    "connected": {
        "en": "Connected to the server (version {version}). Waiting for work.",
        "ja": "サーバー(バージョン {version})に接続しました。作業を待っています。",
    },
    "unreachable": {
        "en": "The server can't be reached: {reason}. Trying again in {seconds:g} s.",
        "ja": "サーバーに接続できません: {reason}。{seconds:g} 秒後に再試行します。",
    },
    "unreachable_once": {
        "en": "The server can't be asked: {reason}. See that it is up (`kumi status`) and that KUMI_TOKEN is right.",
        "ja": "サーバーに問い合わせできません: {reason}。起動しているか(`kumi status`)、KUMI_TOKEN が正しいか確認してください。",
    },
    "refused": {
        "en": "The server does not let us in: {reason}. Is KUMI_TOKEN right? Trying again in {seconds:g} s.",
        "ja": "サーバーに拒否されました: {reason}。KUMI_TOKEN を確認してください。{seconds:g} 秒後に再試行します。",
    },
    "ignored": {
        "en": 'Agent {agentId} has no passkey here: add [runner.agents."{agentId}"] to start it.',
        "ja": 'エージェント {agentId} のパスキーがここにありません: [runner.agents."{agentId}"] を追加してください。',
    },
    "homeless": {
        "en": "Project {projectId} has no folder on this machine: {directory}. Its agents are not started here.",
        "ja": "プロジェクト {projectId} のフォルダーがこのマシンにありません: {directory}。ここでは起動しません。",
    },
    "started": {
        "en": "Started {agentId} on {projectId} with {client} ({instanceId}).",
        "ja": "{agentId} を {projectId} で起動しました({client}、{instanceId})。",
    },
    "adopted": {
        "en": "Following {agentId} on {projectId} again ({instanceId}).",
        "ja": "{projectId} の {agentId} を引き続き監視します({instanceId})。",
    },
    "unstartable": {
        "en": "Could not start {agentId} on {projectId}: {reason}",
        "ja": "{projectId} の {agentId} を起動できません: {reason}",
    },
    "hung": {
        "en": "{agentId} on {projectId} has said nothing for too long: ending it ({instanceId}).",
        "ja": "{projectId} の {agentId} が長時間応答しないため終了させます({instanceId})。",
    },
    "ended": {
        "en": "{agentId} on {projectId} has ended: exit code {exitCode}, signal {signal}, {reason} ({instanceId}).",
        "ja": "{projectId} の {agentId} が終了しました: 終了コード {exitCode}、シグナル {signal}、{reason}({instanceId})。",
    },
    "cooling": {
        "en": "{agentId} on {projectId} is left alone for {seconds:g} s.",
        "ja": "{projectId} の {agentId} は {seconds:g} 秒間起動しません。",
    },
    "held": {
        "en": "{agentId} on {projectId} has failed and is left alone until {until}.",
        "ja": "{projectId} の {agentId} は失敗したため、{until} まで起動しません。",
    },
    "parked": {
        "en": "{client} has reached a limit of its vendor and is not started before {until}.",
        "ja": "{client} が利用上限に達したため、{until} まで起動しません。",
    },
    "unwritten": {
        "en": "Something could not be written to disk: {reason}. It is kept in memory and tried again.",
        "ja": "ディスクに書き込めません: {reason}。メモリーに保持して再試行します。",
    },
    "delivered": {"en": "The server knows how {instanceId} ended.", "ja": "{instanceId} の終了を報告しました。"},
    "rejected": {
        "en": "The server did not take a report of {instanceId}: {reason}",
        "ja": "{instanceId} の報告が受け付けられませんでした: {reason}",
    },
    "already": {
        "en": "A Runner of this home already asks {server}.",
        "ja": "このホームの Runner が既に {server} に接続しています。",
    },
    "stopped": {
        "en": "Stopped. Agents at work go on; the next `kumi runner` follows them.",
        "ja": "停止しました。実行中のエージェントは続行し、次の `kumi runner` が引き継ぎます。",
    },
}


def sentence(key: str, language: Language, facts: Mapping[str, str | int | float | None]) -> str:
    """What others have said may hold anything: it is made safe for a terminal."""
    shown = {name: value if isinstance(value, float) else drawing.cell(value) for name, value in facts.items()}
    return _SAID[key][language].format_map(shown)
