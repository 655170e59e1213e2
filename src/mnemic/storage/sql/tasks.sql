-- Tasks: their rows, their events, and who is at them.

-- name: moment
select coalesce(%(now)s::timestamptz, clock_timestamp()) as now,
       e.task_id, e.seq, e.version, e.payload_enc
from (select) as always
left join task_events e on e.scope_key = %(scope_key)s and e.event_id = %(event_id)s

-- name: add
insert into task_state (scope_key, task_id, user_id, task_type, current_step, status, state_data, failure_enc,
                        version, created_at, updated_at)
values (%(scope_key)s, %(task_id)s, %(user_id)s, %(task_type)s, %(current_step)s, %(status)s, %(state_data)s,
        %(failure_enc)s, %(version)s, %(created_at)s, %(updated_at)s)

-- name: append
insert into task_events (scope_key, event_id, task_id, seq, version, event_type, payload_enc, at)
values (%(scope_key)s, %(event_id)s, %(task_id)s, %(seq)s, %(version)s, %(event_type)s, %(payload_enc)s, %(at)s)
on conflict (scope_key, event_id) do nothing

-- name: get
select task_id, user_id, task_type, current_step, status, state_data, failure_enc, version, created_at, updated_at,
       claim_token, (select coalesce(max(e.seq), 0) from task_events e
                     where e.scope_key = t.scope_key and e.task_id = t.task_id) as last_seq
from task_state t
where scope_key = %(scope_key)s and task_id = %(task_id)s

-- name: version
select version, claim_token
from task_state
where scope_key = %(scope_key)s and task_id = %(task_id)s

-- name: change
update task_state
set current_step = %(current_step)s, status = %(status)s, state_data = %(state_data)s,
    failure_enc = %(failure_enc)s, version = %(version)s, updated_at = %(updated_at)s,
    claim_token = case when %(status)s = 'running' then claim_token end,
    claimed_until = case when %(status)s = 'running' then claimed_until end
where scope_key = %(scope_key)s and task_id = %(task_id)s and version = %(was)s
  and (%(claim)s::uuid is null or claim_token = %(claim)s)

-- name: list
select task_id, user_id, task_type, current_step, status, state_data, failure_enc, version, created_at, updated_at
from task_state
where scope_key = %(scope_key)s and user_id = %(user_id)s
  and (%(task_type)s::text is null or task_type = %(task_type)s)
  and (%(of_status)s::text is null or status = %(of_status)s)
  and (%(before_at)s::timestamptz is null or (updated_at, task_id) < (%(before_at)s, %(before_id)s::uuid))
order by updated_at desc, task_id desc
limit %(limit)s

-- name: count
select count(*) as total
from task_state
where scope_key = %(scope_key)s and user_id = %(user_id)s
  and (%(task_type)s::text is null or task_type = %(task_type)s)
  and (%(of_status)s::text is null or status = %(of_status)s)

-- name: events
select event_id, task_id, seq, version, event_type, payload_enc, at
from task_events
where scope_key = %(scope_key)s and task_id = %(task_id)s and seq > %(after)s
order by seq
limit %(limit)s

-- name: claim
with next as materialized ( -- or a join might run it again, and lock more than one
    select scope_key, task_id
    from task_state
    where scope_key = %(scope_key)s and status = 'running'
      and (%(task_id)s::uuid is null or task_id = %(task_id)s)
      and (task_type, current_step) in (select * from unnest(%(types)s::text[], %(steps)s::text[]))
      and (claimed_until is null or claimed_until <= coalesce(%(now)s::timestamptz, clock_timestamp()))
    order by updated_at, task_id
    limit 1
    for update skip locked)
update task_state t
set claim_token = %(token)s,
    claimed_until = coalesce(%(now)s::timestamptz, clock_timestamp()) + %(lease)s
from next
where t.scope_key = next.scope_key and t.task_id = next.task_id
returning t.task_id, t.user_id, t.task_type, t.current_step, t.status, t.state_data, t.failure_enc, t.version,
          t.created_at, t.updated_at, t.claim_token, t.claimed_until

-- name: renew
update task_state
set claimed_until = coalesce(%(now)s::timestamptz, clock_timestamp()) + %(lease)s
where scope_key = %(scope_key)s and task_id = %(task_id)s and claim_token = %(token)s
returning task_id, user_id, task_type, current_step, status, state_data, failure_enc, version, created_at,
          updated_at, claim_token, claimed_until

-- name: release
update task_state
set claim_token = null, claimed_until = null
where scope_key = %(scope_key)s and task_id = %(task_id)s and claim_token = %(token)s

-- name: waiting
select scope_key, user_id, task_id
from tasks_waiting(%(task_type)s, %(at_steps)s, %(now)s, %(most)s)
