"""What was said in this conversation? (layer 2: short-term memory)"""
