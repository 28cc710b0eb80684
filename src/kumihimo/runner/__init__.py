"""The Runner: S1's pull loop. It asks a server by MCP which agent may start, starts it, follows it, and tells its end.

It knows no task, and of the rest of us only `engine`, `wire`, `settings` and `domain`. `runner.py` is the loop; what it
asks is in `desk.py`, how an agent is started in `starter.py`, what outlives it on disk in `records.py` and `outbox.py`.
"""
