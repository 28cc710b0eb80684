"""HTTPS: a certificate that is trusted opens, any other is refused before anything is said."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
from client_kit import US, greets, http, result, run
from msgspec.structs import replace
from websocket_peer import WebSocketPeer, frame

from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import ConnectionFailed


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: no certificate can be made")
    folder = tmp_path_factory.mktemp("tls")
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    made = (folder / "cert.pem", folder / "key.pem")
    subprocess.run(
        ["openssl", *words.split(), "-out", made[0], "-keyout", made[1]], check=True, capture_output=True, timeout=60
    )
    return made


def test_a_trusted_certificate_opens_and_another_is_refused(certificate: tuple[Path, Path]) -> None:
    async def then(peer: Any, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(http(result(request, content=[{"type": "text", "text": "secret"}])))

    async def test() -> None:
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(*certificate)
        peer = greets(then)
        server = await asyncio.start_server(peer.serve, "127.0.0.1", 0, ssl=serving)
        async with peer.listening() as plain:
            url = replace(plain, url=f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")
            with pytest.raises(ConnectionFailed, match="certificate"):
                await connect(url, US)
            assert peer.requests == []
            trusting = ssl.create_default_context(cafile=str(certificate[0]))
            async with await connect(replace(url, tls=trusting), US) as session:
                answers = await asyncio.gather(*(session.call_tool("any") for _ in range(5)))
                assert [answer.text for answer in answers] == ["secret"] * 5
        server.close()

    run(test())


def test_a_websocket_over_tls_trusts_whom_it_is_told_to(certificate: tuple[Path, Path]) -> None:
    async def then(peer: WebSocketPeer, request: dict[str, Any]) -> None:
        await peer.send(frame(result(request, content=[{"type": "text", "text": "secret"}])))

    async def test() -> None:
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(*certificate)
        peer = WebSocketPeer(then)
        async with peer.listening(tls=serving) as url:
            with pytest.raises(ConnectionFailed, match="certificate"):
                await connect(url, US)
            assert peer.heads == []
            trusting = ssl.create_default_context(cafile=str(certificate[0]))
            async with await connect(replace(url, tls=trusting), US) as session:
                assert url.url.startswith("wss://")
                assert (await session.call_tool("any")).text == "secret"

    run(test())
