-- Sessions: turns that call tools and answer them, turns that were sent twice, what a session keeps for a
-- while, and the summary of what its window has no room for.

-- client_mac is the keyed hash of the id by which the sender knows a turn: the same one again adds nothing.
-- What was said never changes; only whether a turn is pinned does.
alter table message
    add column tool_calls_enc bytea check (tool_calls_enc is null or role = 'assistant'),
    add column tool_call_id_enc bytea check ((tool_call_id_enc is null) or role = 'tool'),
    add column intent_enc bytea,
    add column client_mac bytea,
    add column pinned boolean not null default false;
create unique index message_client on message (scope_key, session_id, client_mac) where client_mac is not null;
create index message_calls on message (scope_key, session_id, seq) where tool_calls_enc is not null;
create index message_pinned on message (scope_key, session_id, seq) where pinned;

-- summary_seqs are the turns that the summary covers; whoever writes it names the version that they read.
alter table session
    add column summary_enc bytea,
    add column summary_seqs bigint[] not null default '{}',
    add column summary_by text check (summary_by in ('model', 'extract')),
    add column summary_version int not null default 0 check (summary_version >= 0),
    add check ((summary_enc is null) = (summary_by is null));

-- What a session keeps for a while: variables, and results that nobody has confirmed yet.
create table session_state (
    scope_key  text not null,
    session_id text not null,
    name_mac   bytea not null,
    entry_enc  bytea not null,
    version    int not null default 1 check (version > 0),
    updated_at timestamptz not null,
    expires_at timestamptz not null,
    primary key (scope_key, session_id, name_mac),
    foreign key (scope_key, session_id) references session on delete cascade
);

do $$
declare
    service name := current_setting('mnemic.service_role');
    own text := '(scope_key = any ((select string_to_array(current_setting(''mnemic.scopes'', true), '',''))::text[])'
                ' or starts_with(scope_key, (select nullif(current_setting(''mnemic.sessions'', true), ''''))))';
begin
    alter table session_state enable row level security;
    alter table session_state force row level security;
    execute format('create policy maintenance on session_state to %I using (true) with check (true)', current_user);
    execute format('create policy own_scopes on session_state to %I using %s with check %s', service, own, own);
    execute format('grant select, insert, update (entry_enc, version, updated_at, expires_at), delete'
                   ' on session_state to %I', service);
    execute format('grant update (pinned) on message to %I', service);
    execute format('grant update (closed_at, summary_enc, summary_seqs, summary_by, summary_version)'
                   ' on session to %I', service);
end $$;
