"""One file per audience: which operations it sees, under which names, in which dialect.

A dialect is the shape of answers on the wire, key casing and errors included. Imports `operations` and below.
"""
