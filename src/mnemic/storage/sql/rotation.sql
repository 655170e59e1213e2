-- The owner's work on keys: a new key of keys, and the end of a key epoch.

-- name: one_at_a_time
select pg_try_advisory_xact_lock(hashtextextended('rotation of ' || current_schema(), 0)) as alone

-- name: be_patient
select set_config('lock_timeout', '2s', true)

-- name: hold_alone
select pg_advisory_xact_lock(hashtextextended('kek of ' || current_schema(), 0))

-- name: replace_kek
with moment as (
    select clock_timestamp() as at
), opened as (
    insert into kek (kek_id, opened_at) select %(kek_id)s, at from moment
), closed as (
    update kek set replaced_at = at from moment where kek.kek_id = %(before)s
)
update deployment
set kek_id = %(kek_id)s, kek_check = %(kek_check)s

-- name: waiting
select count(*) as n
from data_key
where kek_id <> %(kek_id)s

-- name: batch
select scope_key, key_id, wrapped, kek_id
from data_key
where kek_id <> %(kek_id)s and (scope_key, key_id) > (%(after_scope)s, %(after_key)s)
order by scope_key, key_id
limit %(most)s

-- name: rewrap
-- a row that an erasure holds is left for later: waiting for it could lock both out
with fresh as (
    select k.scope_key, k.key_id, n.wrapped
    from unnest(%(places)s::text[], %(keys)s::uuid[], %(wraps)s::bytea[], %(befores)s::text[])
        as n (scope_key, key_id, wrapped, kek_id)
    join data_key k on k.scope_key = n.scope_key and k.key_id = n.key_id and k.kek_id = n.kek_id
    for no key update of k skip locked
)
update data_key d
set wrapped = f.wrapped, kek_id = %(kek_id)s
from fresh f
where d.scope_key = f.scope_key and d.key_id = f.key_id

-- name: unfinished
select k.kek_id
from kek k, deployment d
where k.kek_id <> d.kek_id and k.emptied_at is null
limit 1

-- name: emptied
update kek
set emptied_at = clock_timestamp()
where kek_id <> %(kek_id)s and emptied_at is null

-- name: keks
select k.kek_id, k.opened_at, k.replaced_at, k.emptied_at, k.destroyed_at,
       k.kek_id = d.kek_id as current, coalesce(n.data_keys, 0) as data_keys
from deployment d, kek k
left join (select kek_id, count(*) as data_keys from data_key group by kek_id) n using (kek_id)
order by k.opened_at

-- name: unknown
-- data keys under a key of keys that is not in the list
select count(*) as n
from data_key d
where not exists (select from kek k where k.kek_id = d.kek_id)

-- name: destroyed
update kek
set destroyed_at = clock_timestamp()
where kek_id = %(kek_id)s

-- name: open_erasures
-- the audit's times are cut to milliseconds: one that may have come after is not counted as before
with since as (
    select coalesce(max(final_until), '-infinity') as at from key_closing
), current as (
    select k.opened_at - interval '1 millisecond' as at from kek k join deployment d using (kek_id)
)
select count(*) filter (where l.action = 'erase_user') as erasures,
       count(*) filter (where l.at >= c.at) as later,
       count(*) filter (where l.action = 'erase_user' and l.at < c.at) as final,
       min(l.at) as first_at,
       min(l.at) filter (where l.action = 'erase_user' and l.at < c.at) as first_final_at,
       max(l.at) filter (where l.action = 'erase_user' and l.at < c.at) as last_final_at,
       c.at as final_until
from current c cross join since s
left join audit_log l on l.at >= s.at and l.action in ('erase_user', 'end_project', 'delete_project')
group by c.at

-- name: add_closing
insert into key_closing (final_until, n_destroyed, n_erasures, first_erasure_at, last_erasure_at)
values (%(final_until)s, %(n_destroyed)s, %(final)s, %(first_final_at)s, %(last_final_at)s)
returning closed_at

-- name: closings
select closed_at, final_until, n_destroyed, n_erasures, first_erasure_at, last_erasure_at
from key_closing
order by closed_at
