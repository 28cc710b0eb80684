"""What the system says where a server can't be started or reached, in words that help who has configured it."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import ssl
from pathlib import Path

from kumihimo.wire.client.targets import Command

# What is refused at each of several addresses is told as one text that has the numbers alone.
_REFUSED = f"[Errno {errno.ECONNREFUSED}]"


def why_not_started(error: OSError | ValueError, command: Command) -> str:
    program = command.argv[0]
    if not isinstance(error, OSError):
        return f"{program}: {error}"
    if command.folder is not None and str(error.filename) == str(command.folder):
        return f"its folder {command.folder}: {error.strerror}"
    if isinstance(error, FileNotFoundError):
        return _what_is_missing(program, command)
    if isinstance(error, PermissionError):
        return f"{program} may not be executed"
    return f"{program}: {error.strerror or error}"


def _what_is_missing(program: str, command: Command) -> str:
    if "/" in program:
        found = (command.folder or Path()) / program
        there = found.exists()
    else:
        path = (os.environ if command.environment is None else command.environment).get("PATH")
        there = shutil.which(program, path=path) is not None
    if there:
        return f"{program}: the program that its first line names is not there"
    if "/" in program:
        return f"there is no program {program}"
    return f"no program {program!r} is on its PATH; is it installed?"


def why_not_connected(error: OSError | UnicodeError, url: str) -> str:
    if isinstance(error, ConnectionRefusedError) or _REFUSED in str(error):
        return f"nobody listens at {url}; is it running?"
    if isinstance(error, socket.gaierror):
        return f"{url}: no such host is known ({error.strerror})"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{url}: its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"{url}: no TLS: {error.reason or error}"
    return f"{url}: {error}"
