"""Kumihimo (組紐): the control plane for AI coding agents. `kumi` is its command."""

__version__ = "0.1.0"
