"""Git worktrees: made, listed, kept, removed without losing anything.

`worktrees.py` is the door: create, hold, examine, remove, restore. `merging.py` brings work to its target, `scope.py` says
which files a run may write. `git.py` is the only file that starts git. Nothing here knows of tasks, the store or a clock.
"""
