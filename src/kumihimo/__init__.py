"""Kumihimo (組紐): the control plane for AI coding agents. `kumi` is its command."""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`Hub` on first use: what every start of `kumi` imports stays empty, and no room sees another by this."""
    if name == "Hub":
        from importlib import import_module

        return import_module("kumihimo.hub.hub").Hub
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
