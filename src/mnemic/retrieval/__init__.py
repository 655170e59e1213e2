"""What is known that bears on this query, best first?

``rank`` decides and is pure: what the evidence of both search arms is worth, and in which order hits
come.
"""
