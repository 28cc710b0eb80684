"""The promises of the engine: whatever is killed, stopped, silent or full, a run starts once and ends as it ended.

Each test has a home of its own and real processes in it; the agents are played by the scripted agent.
"""
