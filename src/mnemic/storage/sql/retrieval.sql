-- The read path: both arms in one scan and one round trip. The functions are in migrations/0005_search.sql (greet)
-- and migrations/0020_local_time.sql; for scopes known to hold thousands of items in 0022_large_scopes.sql.
-- {schema}: a statement that stands alone has no search path; inside a transaction it is left out. What
-- begins with asker_ is set by Database.ask, and null inside a transaction, which has said who asks.

-- name: greet
select * from {schema}.greet(%(asker_scopes)s, %(asker_sessions)s, %(asker)s, %(asker_project)s, %(asker_user)s, true)

-- name: search
select * from {schema}.find_items(
    %(asker_scopes)s, %(asker_sessions)s, %(asker)s, %(asker_project)s, %(asker_user)s,
    %(read_scopes)s, %(allowed)s, %(memory_type)s, %(as_of)s::timestamptz, %(known_at)s::timestamptz,
    %(lexemes)s, %(words)s::int, %(slots)s,
    %(model_id)s::int, %(embedding)s, %(near)s::uuid[], %(candidates)s::int)

-- name: search_large
select * from {schema}.search_large(
    %(asker_scopes)s, %(asker_sessions)s, %(asker)s, %(asker_project)s, %(asker_user)s,
    %(read_scopes)s, %(allowed)s, %(memory_type)s, %(as_of)s::timestamptz, %(known_at)s::timestamptz,
    %(lexemes)s, %(words)s::int, %(slots)s,
    %(model_id)s::int, %(embedding)s, %(near)s::uuid[], %(candidates)s::int, %(expected)s::int)
