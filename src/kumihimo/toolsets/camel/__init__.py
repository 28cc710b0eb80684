"""The camelCase dialect: what the command line and the `editor` toolset answer.

`id` is what a verb takes (the number of a task or session, the name of an agent, the slug of a memory, else the prefixed
id); `taskId`, `agentId`, `projectId` and `executionId` are always prefixed ids. A list is an object with one list in it.

One file per noun with its shapes and how they are made; `presenting.py` lists them by the type that an operation declares.
"""
