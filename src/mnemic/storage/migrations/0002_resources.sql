-- Resources: what memories come from and what can be searched beside them. Chat turns stay in the message
-- log; a chunk of a conversation points at (session, seq) and holds what it is found by. Documents keep
-- their text in the chunk. Everything of a user's own lies in the user's scope, conversations included, so
-- that one search covers all sessions.

create table resource (
    scope_key   text not null,
    id          uuid not null,
    kind        text not null check (kind in ('chat', 'document', 'project_resource')),
    collection  text not null check (collection in ('memory', 'knowledge_base')),
    owner_id    text not null,
    session_id  text,
    title_enc   bytea,
    uri_enc     bytea,
    content_mac bytea not null,
    n_chunks    int not null default 0,
    occurred_at timestamptz,
    created_at  timestamptz not null default now(),
    primary key (scope_key, id),
    check ((kind = 'chat') = (session_id is not null))
);
create unique index resource_content on resource (scope_key, collection, content_mac);

-- One chunk is one turn, or one piece of a document; ordinal is the turn's seq, or counts from 1.
-- embedding is the vector of the chunk with its surroundings, passages those of its own parts (empty
-- when that is the same). role: 1 the user (or a document), -1 the assistant, 0 others.
create table chunk (
    scope_key   text not null,
    id          uuid not null,
    resource_id uuid not null,
    ordinal     bigint not null,
    role        smallint not null default 1,
    asking      real not null default 0 check (asking between 0 and 1),
    stands      boolean not null default false,
    speaker_mac bytea,
    text_enc    bytea,
    occurred_at timestamptz,
    embedding   halfvec not null,
    passages    halfvec[] not null default '{}',
    model_id    smallint not null references embedding_model,
    lexemes     tsvector not null,
    n_tokens    int not null,
    primary key (scope_key, id),
    unique (scope_key, resource_id, ordinal),
    foreign key (scope_key, resource_id) references resource on delete cascade
);

alter table session add column indexed_seq bigint not null default 0;

do $$
declare
    service name := current_setting('mnemic.service_role');
    own text := '(scope_key = any ((select string_to_array(current_setting(''mnemic.scopes'', true), '',''))::text[])'
                ' or starts_with(scope_key, (select nullif(current_setting(''mnemic.sessions'', true), ''''))))';
    name text;
begin
    foreach name in array array['resource', 'chunk'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy maintenance on %I to %I using (true) with check (true)',
                       name, current_user);
        execute format('create policy own_scopes on %I to %I using %s with check %s', name, service, own, own);
        execute format('grant select, insert, update, delete on %I to %I', name, service);
    end loop;
    execute format('grant update (indexed_seq) on session to %I', service);
end $$;
