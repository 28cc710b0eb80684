"""HTTP/1.1 on a socket, for an ASGI application: one connection, one exchange, one listener, a file each.

Made for many small answers: a request that has come whole is answered without waiting for anything, head and body leave in
one piece, and connections share their timer.
"""
