"""Tests on either event loop."""

from tests.loops import either_loop, pytest_generate_tests

__all__ = ["either_loop", "pytest_generate_tests"]
