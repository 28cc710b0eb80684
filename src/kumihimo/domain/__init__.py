"""What things are: one file per noun, frozen values, state tables, errors, events.

No I/O and no clock: time and ids come in as arguments. Imports nothing of ours. A new noun is a new file here,
its table in `store/migrations/`, and one file of the same name in `store/`, `services/` and `operations/`.
"""
