"""What is known that bears on this query, best first?

``rank`` is pure and decides what the evidence of both search arms is worth; ``search`` asks the
database and runs it; ``context`` writes the relevant part as text for a prompt.
"""
