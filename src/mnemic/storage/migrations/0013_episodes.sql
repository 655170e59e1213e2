-- Episodes: where agents stopped. LangGraph's own tables, what we know of their threads, a snapshot for pages that
-- are loaded again, and an archive.

-- These five are made as the setup of langgraph-checkpoint-postgres 3.2 makes them (a test compares), but by the
-- owner: the service owns nothing. checkpoint_migrations tells that setup that there is nothing left to do.
create table checkpoint_migrations (
    v integer primary key
);
create table checkpoints (
    thread_id            text not null,
    checkpoint_ns        text not null default '',
    checkpoint_id        text not null,
    parent_checkpoint_id text,
    type                 text,
    checkpoint           jsonb not null,
    metadata             jsonb not null default '{}',
    primary key (thread_id, checkpoint_ns, checkpoint_id)
);
create table checkpoint_blobs (
    thread_id     text not null,
    checkpoint_ns text not null default '',
    channel       text not null,
    version       text not null,
    type          text not null,
    blob          bytea,
    primary key (thread_id, checkpoint_ns, channel, version)
);
create table checkpoint_writes (
    thread_id     text not null,
    checkpoint_ns text not null default '',
    checkpoint_id text not null,
    task_id       text not null,
    idx           integer not null,
    channel       text not null,
    type          text,
    blob          bytea not null,
    task_path     text not null default '',
    primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
create index checkpoints_thread_id_idx on checkpoints (thread_id);
create index checkpoint_blobs_thread_id_idx on checkpoint_blobs (thread_id);
create index checkpoint_writes_thread_id_idx on checkpoint_writes (thread_id);
insert into checkpoint_migrations (v) select generate_series(0, 9);

-- Whose a thread is. LangGraph's tables know an id only, so it holds the user: "<user>/<thread>", both
-- percent-encoded, and two users may each have a thread of the same name. The check makes it impossible to claim
-- the thread of another. A lease says which run may write, for how long.
create table thread (
    scope_key      text not null,
    thread_id      text not null,
    session_id     text not null,
    session_scope  text not null,
    project_id     text,
    created_at     timestamptz not null default clock_timestamp(),
    last_active_at timestamptz not null default clock_timestamp(),
    looked_at      timestamptz,
    lease_token    uuid,
    lease_until    timestamptz,
    primary key (scope_key, thread_id),
    check (starts_with(scope_key, 'user:') and starts_with(thread_id, substr(scope_key, 6) || '/')),
    check ((lease_token is null) = (lease_until is null))
);
create unique index thread_of on thread (thread_id);
create index thread_session on thread (scope_key, session_id);
create index thread_looked on thread (looked_at nulls first);

-- What a page shows that is loaded again: one row a thread, written with the checkpoint that it tells of. Questions
-- may be saved before their checkpoint is: they wait in the row, and early counts them.
create table session_state_snapshot (
    scope_key     text not null,
    thread_id     text not null,
    session_id    text not null,
    checkpoint_id text not null,
    status        text not null check (status in ('running', 'waiting', 'ready', 'failed', 'done')),
    waiting       int not null default 0 check (waiting >= 0),
    early         int not null default 0 check (early >= 0),
    updated_at    timestamptz not null default clock_timestamp(),
    snapshot_enc  bytea not null,
    primary key (scope_key, thread_id),
    foreign key (scope_key, thread_id) references thread on delete cascade
);
create index session_state_snapshot_session on session_state_snapshot (scope_key, session_id, updated_at desc);
create index session_state_snapshot_waiting on session_state_snapshot (scope_key) where waiting > 0;

-- Checkpoints that nobody needs at hand: some of a thread as one compressed, sealed value.
create table checkpoint_archive (
    scope_key     text not null,
    id            uuid not null,
    thread_id     text not null,
    checkpoints   text[] not null,
    n_bytes       bigint not null check (n_bytes >= 0),
    archived_at   timestamptz not null default clock_timestamp(),
    archive_enc   bytea not null,
    primary key (scope_key, id),
    foreign key (scope_key, thread_id) references thread on delete cascade
);
create index checkpoint_archive_thread on checkpoint_archive (scope_key, thread_id);

do $$
declare
    service name := current_setting('mnemic.service_role');
    place name := current_schema();
    personal text[][] := array[
        ['thread', 'select, insert, update (session_id, session_scope, project_id, last_active_at, looked_at,'
                   ' lease_token, lease_until), delete'],
        ['session_state_snapshot', 'select, insert, update (session_id, checkpoint_id, status, waiting,'
                                   ' early, updated_at, snapshot_enc), delete'],
        ['checkpoint_archive', 'select, insert, delete']];
    of_langgraph text[][] := array[
        ['checkpoints', 'select, insert, update (parent_checkpoint_id, checkpoint, metadata), delete'],
        ['checkpoint_blobs', 'select, insert, delete'],
        ['checkpoint_writes', 'select, insert, update (channel, type, blob), delete']];
    entry text[];
    own text := '(scope_key = any ((select string_to_array(current_setting(''mnemic.scopes'', true), '',''))::text[])'
                ' or starts_with(scope_key, (select nullif(current_setting(''mnemic.sessions'', true), ''''))))';
    -- of the threads, too, one sees one's own only
    through text := 'exists (select from thread h where h.thread_id = %I.thread_id)';
    name text;
begin
    foreach entry slice 1 in array personal loop
        name := entry[1];
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy maintenance on %I to %I using (true) with check (true)', name, current_user);
        execute format('create policy own_scopes on %I to %I using %s with check %s', name, service, own, own);
        execute format('grant %s on %I to %I', entry[2], name, service);
    end loop;
    foreach entry slice 1 in array of_langgraph loop
        name := entry[1];
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy maintenance on %I to %I using (true) with check (true)', name, current_user);
        execute format('create policy own_threads on %I to %I using (%s) with check (%s)',
                       name, service, format(through, name), format(through, name));
        execute format('grant %s on %I to %I', entry[2], name, service);
    end loop;
    execute format('grant select on checkpoint_migrations to %I', service);

    -- Where is something to archive? As the owner, with every name spelt out and temporary tables last. It tells
    -- ids only; whoever archives does so as the thread's user, under the policies above.
    execute format($f$
        create function threads_to_archive(before timestamptz, keep int, again timestamptz, most int)
            returns table (scope_key text, user_id text, thread_id text)
            language sql stable security definer set search_path = pg_catalog, pg_temp
        as $body$
            select h.scope_key, u.user_id, h.thread_id
            from %1$I.thread h join %1$I.app_user u on u.scope_key = h.scope_key
            where (h.looked_at is null or h.looked_at < again)
              and u.status <> 'erased' and u.remember is distinct from 'refused'
              and exists (
                  select from (
                      select c.checkpoint ->> 'ts' as ts, row_number() over
                          (partition by c.checkpoint_ns order by c.checkpoint_id desc) as place
                      from %1$I.checkpoints c where c.thread_id = h.thread_id
                  ) older
                  where older.place > keep and older.ts::timestamptz < before)
            order by h.looked_at nulls first, h.thread_id
            limit least(most, 1000)
        $body$ $f$, place);
    revoke all on function threads_to_archive(timestamptz, int, timestamptz, int) from public;
    execute format('grant execute on function threads_to_archive(timestamptz, int, timestamptz, int) to %I', service);
end $$;
