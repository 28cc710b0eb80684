"""`kumi setup CLIENT`: write our MCP server into the configuration of an AI client.

`command.py` is the verb and `installation.py` what it does. A new client is a file of its own beside `claude.py` and a line
in `clients.py`; what it says is in `phrases.py`. Files of others are edited as text, so that all we did not come for stays
as it was: `json_document.py` and `toml_document.py`. Only `command.py` is imported from outside.
"""
