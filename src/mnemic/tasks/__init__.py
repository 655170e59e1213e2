"""How far is a piece of work that takes hours or days?"""
