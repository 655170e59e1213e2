"""What is worth remembering, and how does it get in?"""
