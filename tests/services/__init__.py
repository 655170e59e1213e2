"""Which tests need a server that is no Python wheel? Those marked ``services``; they start it themselves.

A package, so that its conftest is not taken for that of tests/.
"""
