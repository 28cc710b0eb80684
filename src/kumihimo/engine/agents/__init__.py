"""One file per agent CLI: its command line, its stream, its health."""
