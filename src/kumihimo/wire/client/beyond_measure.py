"""Whose answer a message is of which only the two ends are known, because it has more bytes than can be held."""

from __future__ import annotations

import re

_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_NUMBER = rb'"id"\s*:\s*"?(\d{1,18})"?\s*'
_OUTCOME = rb'"(?:result|error)"\s*:'
# An object that has what an answer has, and before it its number where that stands first.
_BEGINNING = re.compile(rb"\s*\{\s*(?:%b,\s*)?(?:%b,\s*)?(?:%b,\s*)?%b" % (_VERSION, _NUMBER, _VERSION, _OUTCOME))
# In no text: there its signs would be escaped. In no inner object: that would end once more.
_END = re.compile(rb",\s*(?:%b,\s*)?%b(?:,\s*%b)?\}\s*$" % (_VERSION, _NUMBER, _VERSION))


def answered_call(beginning: bytes, end: bytes) -> int | None:
    """The number of the call. None where it is no answer, or does not tell at either end."""
    begins = _BEGINNING.match(beginning)
    if begins is None:
        return None
    told = begins if begins[1] else _END.search(end)
    return int(told[1]) if told else None
