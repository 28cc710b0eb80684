"""Every verb declared once: arguments, answer, errors, hints, description, and a handler of a few lines.

MCP, the command line, the HTTP API and the reference are loops over this. A new verb is a handler in the file of its
noun and a line in that file's `OPERATIONS`; the nouns are listed in `catalogue.py`.
"""
