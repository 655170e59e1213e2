-- Episodes: threads and who may write them, checkpoints that are taken out and put back, snapshots.

-- name: know_thread
insert into thread (scope_key, thread_id, session_id, session_scope, project_id)
values (%(scope_key)s, %(thread_id)s, %(session_id)s, %(session_scope)s, %(project_id)s)
on conflict do nothing

-- name: life
select key_epoch
from app_user
where scope_key = %(scope_key)s

-- name: hold_thread
update thread h
set last_active_at = clock_timestamp(),
    session_id = case when %(named)s then %(session_id)s else h.session_id end,
    session_scope = case when %(named)s then %(session_scope)s else h.session_scope end,
    project_id = coalesce(%(project_id)s, h.project_id)
where h.scope_key = %(scope_key)s and h.thread_id = %(thread_id)s
returning h.session_id, h.lease_token, h.lease_until > clock_timestamp() as leased,
          exists (select from session s where s.scope_key = h.session_scope and s.session_id = h.session_id
                  and s.closed_at is not null) as closed

-- name: thread
select h.session_id, h.lease_token, h.lease_until > clock_timestamp() as leased,
       exists (select from session s where s.scope_key = h.session_scope and s.session_id = h.session_id
               and s.closed_at is not null) as closed
from thread h
where h.scope_key = %(scope_key)s and h.thread_id = %(thread_id)s
-- beside others who write it, and before anybody who deletes it
for key share of h

-- name: hold_still
-- nobody else writes it until the transaction ends; it is not the more active for that
select h.session_id
from thread h
where h.scope_key = %(scope_key)s and h.thread_id = %(thread_id)s
for no key update

-- name: take_thread
-- to delete it: whoever is at it comes first, and is deleted too
select (select coalesce(sum(cardinality(a.checkpoints)), 0) from checkpoint_archive a
        where a.scope_key = h.scope_key and a.thread_id = h.thread_id)::bigint as archived
from thread h
where h.scope_key = %(scope_key)s and h.thread_id = %(thread_id)s
for update

-- name: threads
select h.thread_id, h.session_id, h.project_id, h.created_at, h.last_active_at, h.lease_until,
       s.status, s.waiting,
       (select count(*) from checkpoints c where c.thread_id = h.thread_id) as live,
       (select coalesce(sum(cardinality(a.checkpoints)), 0) from checkpoint_archive a
        where a.scope_key = h.scope_key and a.thread_id = h.thread_id)::bigint as archived
from thread h left join session_state_snapshot s using (scope_key, thread_id)
where h.scope_key = %(scope_key)s and (%(session_id)s::text is null or h.session_id = %(session_id)s)
order by h.last_active_at desc, h.thread_id
limit %(limit)s

-- name: newest
select checkpoint_id, parent_checkpoint_id
from checkpoints
where thread_id = %(thread_id)s and checkpoint_ns = %(checkpoint_ns)s
order by checkpoint_id desc
limit 1

-- name: newest_and_snapshot
-- of a thread that is held: what a root checkpoint comes after, and the snapshot that it has to take in
select n.checkpoint_id as newest, s.thread_id, s.session_id, s.checkpoint_id, s.snapshot_enc
from thread h
left join lateral (
    select c.checkpoint_id from checkpoints c
    where c.thread_id = h.thread_id and c.checkpoint_ns = %(checkpoint_ns)s
    order by c.checkpoint_id desc limit 1) n on true
left join session_state_snapshot s
  on s.scope_key = h.scope_key and s.thread_id = h.thread_id and %(checkpoint_ns)s::text = ''
  and (s.early > 0 or s.checkpoint_id = %(checkpoint_id)s)
where h.scope_key = %(scope_key)s and h.thread_id = %(thread_id)s

-- name: parent_of
select parent_checkpoint_id
from checkpoints
where thread_id = %(thread_id)s and checkpoint_ns = %(checkpoint_ns)s and checkpoint_id = %(checkpoint_id)s

-- name: take_lease
update thread
set lease_token = %(token)s, lease_until = clock_timestamp() + %(lease)s
where scope_key = %(scope_key)s and thread_id = %(thread_id)s
  and (lease_until is null or lease_until <= clock_timestamp() or lease_token = %(token)s)
returning lease_until

-- name: renew_lease
update thread
set lease_until = clock_timestamp() + %(lease)s
where scope_key = %(scope_key)s and thread_id = %(thread_id)s and lease_token = %(token)s
  and lease_until > clock_timestamp()
returning lease_until

-- name: drop_lease
update thread
set lease_token = null, lease_until = null
where scope_key = %(scope_key)s and thread_id = %(thread_id)s and lease_token = %(token)s

-- name: snapshot
select s.thread_id, s.session_id, s.checkpoint_id, s.status, s.waiting, s.updated_at, s.snapshot_enc,
       exists (select from thread h join session e on e.scope_key = h.session_scope and e.session_id = h.session_id
               where h.scope_key = s.scope_key and h.thread_id = s.thread_id and e.closed_at is not null) as closed
from session_state_snapshot s
where s.scope_key = %(scope_key)s and s.session_id = %(session_id)s
order by s.updated_at desc, s.thread_id
limit 1

-- name: snapshot_of_thread
select s.thread_id, s.session_id, s.checkpoint_id, s.status, s.waiting, s.updated_at, s.snapshot_enc,
       exists (select from thread h join session e on e.scope_key = h.session_scope and e.session_id = h.session_id
               where h.scope_key = s.scope_key and h.thread_id = s.thread_id and e.closed_at is not null) as closed
from session_state_snapshot s
where s.scope_key = %(scope_key)s and s.thread_id = %(thread_id)s

-- name: unsettled
select thread_id, session_id, checkpoint_id, status, waiting, updated_at, snapshot_enc
from session_state_snapshot
where scope_key = %(scope_key)s and thread_id = %(thread_id)s and status in ('waiting', 'ready', 'failed')

-- name: waiting
select thread_id, session_id, checkpoint_id, status, waiting, updated_at, snapshot_enc
from session_state_snapshot
where scope_key = %(scope_key)s and waiting > 0
  and (%(session_id)s::text is null or session_id = %(session_id)s)
order by updated_at, thread_id

-- name: settling
select thread_id, session_id, checkpoint_id, status, waiting, updated_at, snapshot_enc
from session_state_snapshot
where scope_key = %(scope_key)s and status in ('waiting', 'ready', 'failed')
order by updated_at, thread_id

-- name: put_snapshot
insert into session_state_snapshot
    (scope_key, thread_id, session_id, checkpoint_id, status, waiting, early, snapshot_enc)
values (%(scope_key)s, %(thread_id)s, %(session_id)s, %(checkpoint_id)s, %(status)s, %(waiting)s, %(early)s,
        %(snapshot_enc)s)
on conflict (scope_key, thread_id) do update
set session_id = excluded.session_id, checkpoint_id = excluded.checkpoint_id, status = excluded.status,
    waiting = excluded.waiting, early = excluded.early, updated_at = clock_timestamp(), snapshot_enc = excluded.snapshot_enc

-- name: drop_snapshot
delete from session_state_snapshot
where scope_key = %(scope_key)s and thread_id = %(thread_id)s

-- name: answers
select type, blob
from checkpoint_writes
where thread_id = %(thread_id)s and checkpoint_ns = %(checkpoint_ns)s and checkpoint_id = %(checkpoint_id)s
  and task_id = %(task_id)s and channel = %(channel)s

-- name: put_write
insert into checkpoint_writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
values (%(thread_id)s, %(checkpoint_ns)s, %(checkpoint_id)s, %(task_id)s, %(task_path)s, %(idx)s, %(channel)s,
        %(type)s, %(blob)s)
on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do update
set channel = excluded.channel, type = excluded.type, blob = excluded.blob

-- name: put_checkpoint
insert into checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
values (%(thread_id)s, %(checkpoint_ns)s, %(checkpoint_id)s, %(parent_checkpoint_id)s, %(type)s, %(checkpoint)s,
        %(metadata)s)
on conflict (thread_id, checkpoint_ns, checkpoint_id) do nothing

-- name: put_blob
insert into checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
values (%(thread_id)s, %(checkpoint_ns)s, %(channel)s, %(version)s, %(type)s, %(blob)s)
on conflict (thread_id, checkpoint_ns, channel, version) do nothing

-- name: placed
-- each checkpoint of a thread: how many of its namespace are newer, the root's checkpoint that it began at
select checkpoint_ns, checkpoint_id, checkpoint ->> 'ts' as ts, metadata -> 'parents' ->> '' as root,
       metadata ->> 'run_id' as run_id,
       -- of values, only marks of channels that keep differences stand beside the others
       (metadata ? 'counters_since_delta_snapshot' or metadata ? 'delta_writes_versioned'
        or checkpoint -> 'channel_values' <> '{}') as delta,
       row_number() over (partition by checkpoint_ns order by checkpoint_id desc) as place
from checkpoints
where thread_id = %(thread_id)s
order by checkpoint_ns, checkpoint_id desc

-- name: checkpoints
select checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
from checkpoints c
join unnest(%(namespaces)s::text[], %(ids)s::text[]) as w (ns, id)
  on c.checkpoint_ns = w.ns and c.checkpoint_id = w.id
where c.thread_id = %(thread_id)s
order by checkpoint_ns, checkpoint_id

-- name: blobs
select distinct b.checkpoint_ns, b.channel, b.version, b.type, b.blob
from checkpoints c
join unnest(%(namespaces)s::text[], %(ids)s::text[]) as w (ns, id)
  on c.checkpoint_ns = w.ns and c.checkpoint_id = w.id
cross join lateral jsonb_each_text(c.checkpoint -> 'channel_versions') as v
join checkpoint_blobs b on b.thread_id = c.thread_id and b.checkpoint_ns = c.checkpoint_ns
  and b.channel = v.key and b.version = v.value
where c.thread_id = %(thread_id)s

-- name: writes
select cw.checkpoint_ns, cw.checkpoint_id, cw.task_id, cw.task_path, cw.idx, cw.channel, cw.type, cw.blob
from checkpoint_writes cw
join unnest(%(namespaces)s::text[], %(ids)s::text[]) as w (ns, id)
  on cw.checkpoint_ns = w.ns and cw.checkpoint_id = w.id
where cw.thread_id = %(thread_id)s
order by cw.checkpoint_ns, cw.checkpoint_id, cw.task_id, cw.idx

-- name: drop_writes
delete from checkpoint_writes cw
using unnest(%(namespaces)s::text[], %(ids)s::text[]) as w (ns, id)
where cw.thread_id = %(thread_id)s and cw.checkpoint_ns = w.ns and cw.checkpoint_id = w.id

-- name: drop_checkpoints
delete from checkpoints c
using unnest(%(namespaces)s::text[], %(ids)s::text[]) as w (ns, id)
where c.thread_id = %(thread_id)s and c.checkpoint_ns = w.ns and c.checkpoint_id = w.id

-- name: drop_unused_blobs
delete from checkpoint_blobs b
where b.thread_id = %(thread_id)s
  and (b.checkpoint_ns, b.channel, b.version) not in (
      select c.checkpoint_ns, v.key, v.value
      from checkpoints c cross join lateral jsonb_each_text(c.checkpoint -> 'channel_versions') as v
      where c.thread_id = %(thread_id)s)

-- name: forget_parents
update checkpoints c
set parent_checkpoint_id = null
where c.thread_id = %(thread_id)s and c.parent_checkpoint_id is not null
  and not exists (select from checkpoints p where p.thread_id = c.thread_id
                  and p.checkpoint_ns = c.checkpoint_ns and p.checkpoint_id = c.parent_checkpoint_id)
  and not exists (select from checkpoint_archive a where a.scope_key = %(scope_key)s
                  and a.thread_id = c.thread_id and c.parent_checkpoint_id = any (a.checkpoints))

-- name: drop_all_checkpoints
delete from checkpoints
where thread_id = %(thread_id)s

-- name: drop_all_blobs
delete from checkpoint_blobs
where thread_id = %(thread_id)s

-- name: drop_all_writes
delete from checkpoint_writes
where thread_id = %(thread_id)s

-- name: drop_thread
delete from thread
where scope_key = %(scope_key)s and thread_id = %(thread_id)s

-- name: threads_of_run
select distinct c.thread_id
from checkpoints c join thread h on h.scope_key = %(scope_key)s and h.thread_id = c.thread_id
where c.metadata ->> 'run_id' = any (%(run_ids)s::text[])

-- name: thread_ids
select thread_id
from thread
where scope_key = %(scope_key)s
order by thread_id

-- name: add_archive
insert into checkpoint_archive (scope_key, id, thread_id, checkpoints, n_bytes, archive_enc)
values (%(scope_key)s, %(id)s, %(thread_id)s, %(checkpoints)s, %(n_bytes)s, %(archive_enc)s)

-- name: archives
select id, thread_id, checkpoints, n_bytes, archived_at, archive_enc
from checkpoint_archive
where scope_key = %(scope_key)s and thread_id = %(thread_id)s
  and (%(checkpoint_id)s::text is null or %(checkpoint_id)s = any (checkpoints))
order by id

-- name: drop_archive
delete from checkpoint_archive
where scope_key = %(scope_key)s and id = %(id)s

-- name: looked_at
update thread
set looked_at = clock_timestamp()
where scope_key = %(scope_key)s and thread_id = %(thread_id)s

-- name: to_archive
select scope_key, user_id, thread_id
from threads_to_archive(%(before)s, %(keep)s, %(again)s, %(most)s)

-- name: tables_version
select max(v) as version
from checkpoint_migrations
