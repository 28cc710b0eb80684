"""What the product does: use cases, one class per noun, every command one transaction.

Decides; does not parse, print or encode. May import `store`, `engine`, `settings` and `domain`. A new rule of the
product goes into the file of its noun.
"""
