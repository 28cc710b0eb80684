"""Ways on which a notice reaches a person: one file each, with `tell`, and a line in `channels.py`."""
