"""Processes that outlive us: who they are, whether they still live."""
