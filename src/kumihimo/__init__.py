"""Kumihimo (組紐): the control plane for AI coding agents. `kumi` is its command."""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`Hub`, and what it raises, on first use: what every start of `kumi` imports stays empty, and no room sees another."""
    room = {
        "Hub": "kumihimo.hub.hub",
        "HubClosed": "kumihimo.hub.errors",
        "HubError": "kumihimo.hub.errors",
        "ConfigError": "kumihimo.domain.errors",
    }.get(name)
    if room is not None:
        from importlib import import_module

        return getattr(import_module(room), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
