"""`lead`, as its clients see it: a real door, a real supervisor, and scripted agents that do what a prompt says."""
