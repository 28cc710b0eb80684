"""What happens, as it happens: `/ws`. Events of the board become S0's messages, each made once and written to everybody
who watches. Knows sockets and the board; a new kind of message is a line in `messages.py`."""
