-- Tasks: work that takes hours or days. The events are what happened, the row is what comes of them; both are
-- written in one transaction, and the row can be made of the events again.

-- state_data keeps its top-level keys in clear, each value is sealed text. A claim is no event: it says which
-- worker is at it, for how long, and dies with its time.
create table task_state (
    scope_key     text not null,
    task_id       uuid not null,
    user_id       text not null,
    task_type     text not null,
    current_step  text not null,
    status        text not null check (status in ('running', 'failed', 'completed')),
    state_data    jsonb not null check (jsonb_typeof(state_data) = 'object'),
    failure_enc   bytea,
    version       int not null check (version > 0),
    created_at    timestamptz not null,
    updated_at    timestamptz not null,
    claim_token   uuid,
    claimed_until timestamptz,
    primary key (scope_key, task_id),
    check ((claim_token is null) = (claimed_until is null)),
    check ((status = 'failed') = (failure_enc is not null))
);
create index task_state_recent on task_state (scope_key, user_id, updated_at desc, task_id desc);
create index task_state_waiting on task_state (task_type, current_step, updated_at) where status = 'running';

-- One change of a task writes one or two events, all with the version that the change made.
create table task_events (
    scope_key   text not null,
    event_id    uuid not null,
    task_id     uuid not null,
    seq         int not null check (seq > 0),
    version     int not null check (version > 0),
    event_type  text not null check (event_type in ('step_start', 'step_success', 'step_fail')),
    payload_enc bytea not null,
    at          timestamptz not null,
    primary key (scope_key, event_id),
    unique (scope_key, task_id, seq),
    foreign key (scope_key, task_id) references task_state on delete cascade
);

do $$
declare
    service name := current_setting('mnemic.service_role');
    place name := current_schema();
    personal text[][] := array[
        ['task_state', 'select, insert, update (current_step, status, state_data, failure_enc, version,'
                       ' updated_at, claim_token, claimed_until)'],
        ['task_events', 'select, insert']];
    entry text[];
    own text := '(scope_key = any ((select string_to_array(current_setting(''mnemic.scopes'', true), '',''))::text[])'
                ' or starts_with(scope_key, (select nullif(current_setting(''mnemic.sessions'', true), ''''))))';
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

    -- Where is work for a worker that serves all users? As the owner, with every name spelt out and temporary
    -- tables last. It tells ids only; whoever takes a task does so as its user, under the policies above.
    execute format($f$
        create function tasks_waiting(wanted text, at_steps text[], moment timestamptz, most int)
            returns table (scope_key text, user_id text, task_id uuid)
            language sql stable security definer set search_path = pg_catalog, pg_temp
        as $body$
            select t.scope_key, t.user_id, t.task_id
            from %1$I.task_state t join %1$I.app_user u on u.scope_key = t.scope_key
            where t.status = 'running' and t.task_type = wanted and t.current_step = any (at_steps)
              and (t.claimed_until is null or t.claimed_until <= coalesce(moment, clock_timestamp()))
              and u.status <> 'erased' and u.remember is distinct from 'refused'
            order by t.updated_at, t.task_id
            limit least(most, 1000)
        $body$ $f$, place);
    revoke all on function tasks_waiting(text, text[], timestamptz, int) from public;
    execute format('grant execute on function tasks_waiting(text, text[], timestamptz, int) to %I', service);
end $$;
