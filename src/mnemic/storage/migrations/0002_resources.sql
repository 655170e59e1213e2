-- Resources: what memories come from and what can be searched beside them. Chat turns stay in the message
-- log; a chunk of a conversation points at (session, seq) and holds what it is found by. Documents keep
-- their text in the chunk. Everything of a user's own lies in the user's scope, conversations included, so
-- that one search covers all sessions.

-- content_mac is the keyed hash of a document's bytes, uri_mac that of where it came from; a conversation
-- has neither and is the only one of its session.
create table resource (
    scope_key   text not null,
    id          uuid not null,
    kind        text not null check (kind in ('chat', 'document', 'project_resource')),
    collection  text not null check (collection in ('memory', 'knowledge_base')),
    owner_id    text not null,
    session_id  text,
    title_enc   bytea,
    uri_enc     bytea,
    uri_mac     bytea,
    content_mac bytea,
    n_chunks    int not null default 0,
    occurred_at timestamptz,
    created_at  timestamptz not null default now(),
    primary key (scope_key, id),
    check ((kind = 'chat') = (session_id is not null)),
    check ((kind = 'chat') = (content_mac is null))
);
create unique index resource_session on resource (scope_key, session_id);
create unique index resource_content on resource (scope_key, collection, content_mac);
create unique index resource_uri on resource (scope_key, collection, uri_mac);
create index resource_recent on resource (scope_key, created_at desc, id desc);

-- One chunk is one turn, or one piece of a document; ordinal is the turn's seq, or counts from 1.
-- embedding is the vector of the chunk with its surroundings, passages those of its own parts (empty
-- when that is the same). It is null where the model gave none for this text: only words find it then.
-- role: 1 the user (or a document), -1 the assistant, 0 others.
create table chunk (
    scope_key   text not null,
    id          uuid not null,
    resource_id uuid not null,
    ordinal     bigint not null check (ordinal > 0),
    role        smallint not null default 1 check (role in (-1, 0, 1)),
    asking      real not null default 0 check (asking between 0 and 1),
    stands      boolean not null default false,
    speaker_mac bytea,
    text_enc    bytea,
    occurred_at timestamptz,
    embedding   halfvec,
    passages    halfvec[] not null default '{}',
    model_id    smallint not null references embedding_model,
    lexemes     tsvector not null,
    n_tokens    int not null,
    primary key (scope_key, id),
    unique (scope_key, resource_id, ordinal),
    foreign key (scope_key, resource_id) references resource on delete cascade
);

-- Chunks of a document that is still being read, under the keyed hash of its bytes: they become chunks all
-- at once, and what an interrupted run left is where the next one goes on.
create table chunk_draft (
    scope_key  text not null,
    draft_mac  bytea not null,
    ordinal    bigint not null check (ordinal > 0),
    id         uuid not null,
    text_enc   bytea not null,
    embedding  halfvec,
    model_id   int not null references embedding_model,
    lexemes    tsvector not null,
    n_tokens   int not null,
    created_at timestamptz not null default now(),
    primary key (scope_key, draft_mac, ordinal)
);

alter table session add column indexed_seq bigint not null default 0;

do $$
declare
    service name := current_setting('mnemic.service_role');
    personal text[][] := array[
        ['resource', 'select, insert, update (n_chunks), delete'],
        ['chunk', 'select, insert, update (embedding, passages, model_id), delete'],
        ['chunk_draft', 'select, insert, delete']];
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
    execute format('grant update (indexed_seq) on session to %I', service);
end $$;
