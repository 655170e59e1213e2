"""What should every prompt hold of a user and of a project?

values     profiles as they are handed out
fields     which fields there are, and what an edit may put there
contact    addresses and numbers in one form, and masked
words, phrases, fillings    how texts in Chinese and English name the values of fields
project_fillings            the same for what is said of a project
aggregate  items to fields; pure, and in no order
decisions  what was decided, and why
behaviour  where a user's intents lie on average
rows       profiles as rows, sealed
refresh    a profile made anew from its items, in one transaction
prose      the background in flowing text, where a chat model is there
consumer   whoever makes them anew while nobody asks
history_changes, history_rows    what one change is, and how it lies in the database
history_fold                     old changes, folded by a job at night
history                          what a profile was at a moment, and how it changed
store      what can be asked of profiles
"""
