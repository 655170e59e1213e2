"""How good is it, measured on labelled data?"""
