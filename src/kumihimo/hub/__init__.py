"""Many upstream MCP servers as one: `hub.py` is what one uses, `from kumihimo import Hub`.

`configuration*.py` say which servers there are, `registry.py` holds them, `upstream.py` is one of them with its one live
session, `calls.py` brings a call there and back. `faults.py` is the one place where an error of the wire becomes a code.
`sandbox.py` puts a server behind walls, `serena*.py` know the server of that name, `importing.py` and `foreign_*.py` read what
other clients have. Beside `services`, which it does not see. A new way to reach a server is a line in `reaching.py`.
"""
