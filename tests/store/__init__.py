"""The store alone: what goes in comes out, lists and their plans, copies, bells, migrations."""
