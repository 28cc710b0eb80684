"""The server of `wire_kit`, as a process on stdio."""

import asyncio
import sys

from wire_kit import build

from kumihimo.wire.stdio import serve


async def tick() -> None:
    await asyncio.Event().wait()


def goodbye() -> None:
    print("goodbye", file=sys.stderr, flush=True)


if __name__ == "__main__":
    limit = [int(argument.removeprefix("limit=")) for argument in sys.argv if argument.startswith("limit=")]
    options = {"most_message_bytes": limit[0]} if limit else {}
    background = tick if "background" in sys.argv else None
    raise SystemExit(serve(build(), caller="local", background=background, on_shutdown=goodbye, **options))
