"""Where do vectors come from, and which of them may be stored?

``protocol`` says what every embedder promises and checks it; ``local`` needs no network, ``openai``
calls an endpoint; ``calibration`` makes the cosines of different models mean the same.
"""
