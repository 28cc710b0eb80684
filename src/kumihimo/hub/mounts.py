"""What a server in a sandbox gets to see of this machine, and whether something of it is to be seen there.

Everything stands at its own path. Where the way to a file leads over links, they are followed as they are inside: a program
may be visible and what it links to not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from kumihimo.hub.configuration import Sandbox

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# What programs need to run and to find others. Of /etc nothing else, above all no keys.
SETTINGS = (
    *("alternatives", "ca-certificates", "crypto-policies", "pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem"),
    *(
        "ssl/certs",
        "ssl/cert.pem",
        "ssl/openssl.cnf",
        "pki/tls/openssl.cnf",
        "ld.so.cache",
        "ld.so.conf",
        "ld.so.conf.d",
    ),
    *("passwd", "group", "nsswitch.conf", "host.conf", "hosts", "gai.conf", "protocols", "services", "resolv.conf"),
    *("localtime", "timezone", "locale.alias", "mime.types", "os-release", "terminfo"),
)
TEMPORARY = Path("/tmp")  # noqa: S108 - it is private inside
# What is set here holds for the whole machine. The kernel lets root write it without any privilege.
_MACHINE = (Path("/proc/sys"), Path("/proc/fs"))
_READ, _WRITE, _PRIVATE = "--ro-bind", "--bind", "--tmpfs"
_MOST_LINKS = 40


class Mounts:
    """`home` is empty inside, unless it lies in a folder that is named."""

    def __init__(self, sandbox: Sandbox, home: Path) -> None:
        named = {_normal(folder): _READ for folder in sandbox.read} | {
            _normal(folder): _WRITE for folder in sandbox.write
        }
        self.named = tuple(named)
        given = [Path(folder) for folder in SYSTEM] + [Path("/etc", name) for name in SETTINGS]
        self._options: dict[Path, str] = {Path("/proc"): "--proc", Path("/dev"): "--dev", TEMPORARY: _PRIVATE}
        if os.geteuid() == 0:
            self._options |= {path: _READ for path in _MACHINE if path.exists()}
        self._options |= {path: _READ for path in given if path.exists() and not _within(path, named)}
        if not _within(home, named):
            self._options[home] = _PRIVATE
        self._options |= named

    @property
    def arguments(self) -> list[str]:
        """For `bwrap`: a folder before what is in it."""
        words: list[str] = []
        for path, option in sorted(self._options.items(), key=lambda mount: len(mount[0].parts)):
            words += [option, str(path)] if option in ("--proc", "--dev", _PRIVATE) else [option, str(path), str(path)]
        return words

    def reveal(self, folder: Path) -> None:
        """As if it had been named."""
        self._options[folder] = _READ

    def hidden(self, path: Path) -> Path | None:
        """What can't be seen inside on the way to this path, itself or what it links to; None where it is all there."""
        at, links = Path("/"), 0
        waiting = list(reversed(path.parts[1:]))
        while waiting:
            name = waiting.pop()
            at = at.parent if name == ".." else at / name
            if at in self._options or self._leads_to_one(at):
                continue
            if not self._shown(at):
                return at.joinpath(*reversed(waiting))
            if at.is_symlink():
                links += 1
                if links > _MOST_LINKS:
                    return at
                target = at.readlink()
                at = Path("/") if target.is_absolute() else at.parent
                waiting += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        return None

    def _shown(self, path: Path) -> bool:
        nearest = next((folder for folder in path.parents if folder in self._options), None)
        return nearest is not None and self._options[nearest] in (_READ, _WRITE)

    def _leads_to_one(self, path: Path) -> bool:
        """A folder that is there only because something in it is. In one that is shown, the real one is."""
        return not self._shown(path) and any(path in mount.parents for mount in self._options)


def _normal(folder: str) -> Path:
    return Path(os.path.normpath(folder))


def _within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
