"""How fast is Mnemic, beside what a hand-written query would cost in the same minute?

``python -m benchmarks.run`` measures, prints a table and writes docs/reference/benchmarks.md with
``--write``. Every figure stands beside a floor (``floor.py``) measured in the same run, alternating.
"""
