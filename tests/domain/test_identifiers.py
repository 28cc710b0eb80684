from __future__ import annotations

import os
import re

from kumihimo.domain.identifiers import PREFIXES, Identifiers
from kumihimo.testing.identifiers import counting_identifiers


def test_an_id_says_what_it_is_of_and_has_no_letters_that_look_alike() -> None:
    made = Identifiers(os.urandom)
    for noun, prefix in PREFIXES.items():
        assert re.fullmatch(rf"{prefix}[0-9a-hjkmnp-tv-z]{{12}}", made.new(noun))


def test_a_secret_has_160_bits_that_are_never_the_same() -> None:
    made = Identifiers(os.urandom)
    secrets = {made.secret("sess_") for _ in range(100)}
    assert len(secrets) == 100
    assert all(re.fullmatch(r"sess_[0-9a-z]{32}", secret) for secret in secrets)


def test_countable_ids_are_the_same_in_every_run_and_never_repeat() -> None:
    first, second = counting_identifiers(), counting_identifiers()
    made = [first.new("task") for _ in range(100)]
    assert made == [second.new("task") for _ in range(100)]
    assert len(set(made)) == 100
