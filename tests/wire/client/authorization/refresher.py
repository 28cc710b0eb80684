"""A process that has its token refused, again and again: `python refresher.py URL FOLDER TIMES`. It tells the last one."""

import asyncio
import sys
from pathlib import Path

from kumihimo.wire.client.authorization.file_store import FileStore
from kumihimo.wire.client.authorization.oauth import OAuth


async def main(url: str, folder: str, times: int) -> None:
    for _ in range(times):
        oauth = OAuth(url, FileStore(Path(folder)))
        token = await oauth.token(url)
        assert await oauth.challenged(url, 401, {b"www-authenticate": b"Bearer"}, token, 0)
        assert await oauth.token(url) != token
    print("good")


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
