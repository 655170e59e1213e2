-- Jobs: who runs which, and where there is work. No statement here touches a user's rows but the last.

-- name: add
insert into job_run (name)
values (%(name)s)
on conflict (name) do nothing

-- name: take
-- one worker at a time, until it has not been heard of for a while; no job is due more than a day ahead: such a
-- moment comes of a clock that was wrong
update job_run
set held_by = %(worker)s, held_until = clock_timestamp() + %(lease)s, began_at = clock_timestamp()
where name = %(name)s and (held_until is null or held_until <= clock_timestamp())
  and (%(anyway)s or due_at <= %(now)s::timestamptz or due_at > %(now)s::timestamptz + interval '2 days')
returning name

-- name: keep
update job_run
set held_until = clock_timestamp() + %(lease)s
where name = any (%(names)s) and held_by = %(worker)s

-- name: finish
update job_run
set held_by = null, held_until = null, ended_at = clock_timestamp(), due_at = %(due_at)s, code = %(code)s,
    counts = %(counts)s, runs = runs + 1, failures = failures + (%(code)s::text is not null)::int
where name = %(name)s and held_by = %(worker)s

-- name: give_back
update job_run
set held_by = null, held_until = null
where name = %(name)s and held_by = %(worker)s

-- name: state
select name, nullif(due_at, '-infinity') as due_at, began_at, ended_at, code, counts, runs, failures,
       held_until is not null and held_until > clock_timestamp() as running
from job_run
order by name

-- name: drop_expired
select entries, states, answers
from drop_expired(%(most)s)

-- name: count_expired
select entries, states, answers
from count_expired()

-- name: sessions_idle
select scope_key, user_id, session_id, project_id
from sessions_idle(%(before)s::timestamptz, %(most)s)

-- name: tasks_over
select scope_key, user_id, task_id
from tasks_over(%(before)s::timestamptz, %(most)s)

-- name: drop_task
delete from task_state
where scope_key = %(scope_key)s and task_id = %(task_id)s and status <> 'running'
  and updated_at < %(before)s::timestamptz
returning version, current_step, status
