-- Long-term memory: users, their keys, conversations, memory items.
-- Runs as the owner, in one transaction, with the search path on our schema. The setting
-- mnemic.service_role names the login that the service uses. Columns ending in _enc are sealed,
-- content_mac and lexemes are keyed hashes; all else is clear (docs/explain/encryption.md says why).

create table deployment (
    id          uuid primary key,
    created_at  timestamptz not null default now(),
    kek_id      text,
    kek_check   bytea,
    model_id    smallint,
    only_row    boolean not null default true unique check (only_row)
);

create table embedding_model (
    model_id    smallint generated always as identity primary key,
    name        text not null,
    dims        int not null check (dims between 1 and 4000),
    calibration jsonb not null,
    created_at  timestamptz not null default now(),
    unique (name, dims)
);

create table app_user (
    scope_key      text primary key,
    user_id        text not null,
    created_at     timestamptz not null default now(),
    last_active_at timestamptz not null default now(),
    status         text not null default 'active' check (status in ('active', 'dormant', 'erased')),
    key_epoch      int not null default 1
);

create table data_key (
    scope_key  text not null,
    key_id     uuid not null,
    wrapped    bytea not null,
    kek_id     text not null,
    created_at timestamptz not null default now(),
    retired_at timestamptz,
    primary key (scope_key, key_id)
);
create unique index data_key_current on data_key (scope_key) where retired_at is null;

create table session (
    scope_key      text not null,
    session_id     text not null,
    user_id        text not null,
    project_id     text,
    started_at     timestamptz not null default now(),
    last_active_at timestamptz not null default now(),
    closed_at      timestamptz,
    last_seq       bigint not null default 0,
    extracted_seq  bigint not null default 0,
    primary key (scope_key, session_id)
);

create table message (
    scope_key   text not null,
    session_id  text not null,
    seq         bigint not null check (seq > 0),
    role        text not null check (role in ('user', 'assistant', 'system', 'tool')),
    content_enc bytea not null,
    speaker_enc bytea,
    created_at  timestamptz not null,
    primary key (scope_key, session_id, seq),
    foreign key (scope_key, session_id) references session on delete cascade
);

create table memory_item (
    scope_key      text not null,
    id             uuid not null,
    scope          text not null check (scope in ('user', 'project', 'session')),
    scope_id       text not null,
    owner_id       text not null,
    memory_type    text not null check (memory_type in
        ('preference', 'fact', 'skill', 'habit', 'event', 'context', 'constraint', 'decision')),
    content_enc    bytea not null,
    content_mac    bytea not null,
    source         text not null check (source in ('user', 'ai', 'knowledge_base', 'project_resource')),
    source_id      text,
    source_seqs    bigint[],
    confidence     real not null check (confidence between 0 and 1),
    visibility     text not null default 'members' check (visibility in ('public', 'members', 'owner_only')),
    status         text not null check (status in ('pending', 'active', 'archived', 'superseded')),
    reason_enc     bytea,
    metadata_enc   bytea,
    created_at     timestamptz not null,
    recorded_at    timestamptz not null,
    valid_from     timestamptz not null,
    valid_to       timestamptz,
    retired_at     timestamptz,
    superseded_by  uuid,
    version        int not null default 1 check (version > 0),
    embedding      halfvec not null,
    model_id       smallint not null references embedding_model,
    lexemes        tsvector not null,
    n_tokens       int not null,
    slots          text[] not null default '{}',
    script         text not null default '',
    primary key (scope_key, id)
);
create unique index memory_item_exact on memory_item (scope_key, content_mac)
    where status in ('active', 'pending');
create index memory_item_recent on memory_item (scope_key, recorded_at desc, id desc);
create index memory_item_chain on memory_item (scope_key, superseded_by) where superseded_by is not null;

create table item_usage (
    scope_key    text not null,
    id           uuid not null,
    last_used_at timestamptz not null default now(),
    use_count    bigint not null default 1,
    primary key (scope_key, id),
    foreign key (scope_key, id) references memory_item on delete cascade
);

create table verification (
    scope_key    text not null,
    item_id      uuid not null,
    reason       text not null,
    question_enc bytea not null,
    asked_at     timestamptz not null default now(),
    answered_at  timestamptz,
    answer       text check (answer in ('confirmed', 'denied')),
    primary key (scope_key, item_id),
    foreign key (scope_key, item_id) references memory_item on delete cascade
);

create table extraction_log (
    scope_key  text not null,
    session_id text not null,
    at         timestamptz not null default now(),
    id         uuid not null,
    turn       bigint,
    primary key (scope_key, session_id, id)
);
create unique index extraction_log_turn on extraction_log (scope_key, session_id, turn) where turn is not null;

-- Whose rows may this transaction touch? transaction(actor) sets mnemic.scopes (the scopes it names) and
-- mnemic.sessions (the prefix of all sessions of its user). Without them, and at their empty values, none.
do $$
declare
    service name := current_setting('mnemic.service_role');
    -- each table with personal data, and what the service does with it (rows that hang on others go by cascade)
    personal text[][] := array[
        ['app_user', 'select, insert'],
        ['data_key', 'select, insert'],
        ['session', 'select, insert, update (last_active_at, last_seq, extracted_seq)'],
        ['message', 'select, insert'],
        ['memory_item', 'select, insert, update, delete'],
        ['item_usage', 'select, insert, update (last_used_at, use_count)'],
        ['verification', 'select, insert, update (reason, question_enc, asked_at, answered_at, answer)'],
        ['extraction_log', 'select, insert']];
    entry text[];
    own text := '(scope_key = any ((select string_to_array(current_setting(''mnemic.scopes'', true), '',''))::text[])'
                ' or starts_with(scope_key, (select nullif(current_setting(''mnemic.sessions'', true), ''''))))';
    name text;
begin
    foreach entry slice 1 in array personal loop
        name := entry[1];
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy maintenance on %I to %I using (true) with check (true)',
                       name, current_user);
        execute format('create policy own_scopes on %I to %I using %s with check %s', name, service, own, own);
        execute format('grant %s on %I to %I', entry[2], name, service);
    end loop;
    execute format('grant usage on schema %I to %I', current_schema(), service);
    execute format('grant select, insert on embedding_model to %I', service);
    execute format('grant select, update (model_id) on deployment to %I', service);
    execute format('grant select on schema_migration to %I', service);
end $$;
