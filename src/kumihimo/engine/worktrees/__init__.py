"""Git worktrees: made, listed, kept, removed without losing anything."""
