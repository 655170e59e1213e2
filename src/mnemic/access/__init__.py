"""Who is knocking, how often may they, and have they asked this before?"""
