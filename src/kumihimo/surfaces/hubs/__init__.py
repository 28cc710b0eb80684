"""The hubs of a process: one for each project, shared by all who reach it through this door or the terminal."""
