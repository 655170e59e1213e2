-- Embedding models of users: whose vectors are of which model, and how they change from one to another.

-- every user may bring a model: more of them than a smallint counts
alter table embedding_model alter column model_id type int;
alter table deployment alter column model_id type int;
alter table memory_item alter column model_id type int;
alter table chunk alter column model_id type int;
alter table chunk_draft alter column model_id type int;

-- A user's own model has a row here for its calibration, under a random name: which model it is stands,
-- sealed, in the user's settings. indexed: an operator had an HNSW index made for its vectors.
alter table embedding_model add column own boolean not null default false;
alter table embedding_model add column indexed boolean not null default false;

-- The model that the deployment's vectors are being changed to, null while nothing is under way.
alter table deployment add column next_model_id int references embedding_model;

-- The model of this user's vectors, null while it is the deployment's. Read where a transaction begins.
alter table app_user add column model_id int references embedding_model;

-- The endpoint in use ('active') and the one that the user's vectors are being changed to ('next'; without
-- an address when the user goes back to the deployment's model).
create table embedding_settings (
    scope_key    text not null,
    stage        text not null check (stage in ('active', 'next')),
    user_id      text not null,
    base_url_enc bytea,
    model_enc    bytea,
    api_key_enc  bytea,
    dims         int check (dims between 1 and 4000),
    model_id     int references embedding_model,
    updated_at   timestamptz not null default now(),
    primary key (scope_key, stage),
    check (num_nulls(base_url_enc, model_enc, dims, model_id) in (0, 4)),
    check (stage = 'next' or model_id is not null)
);

-- Vectors of the next model, made beside those in use until all are there. row_version tells a row that
-- was changed since; a row that the model refused has the reason in place of a vector.
create table reembedding (
    scope_key   text not null,
    table_name  text not null check (table_name in ('memory_item', 'chunk')),
    id          uuid not null,
    model_id    int not null references embedding_model,
    row_version bigint not null,
    embedding   halfvec,
    passages    halfvec[] not null default '{}',
    reason      text,
    item_id     uuid,
    chunk_id    uuid,
    primary key (scope_key, table_name, id, model_id),
    -- what is deleted leaves no vector here
    foreign key (scope_key, item_id) references memory_item on delete cascade,
    foreign key (scope_key, chunk_id) references chunk on delete cascade,
    check ((embedding is null) = (reason is not null)),
    check (case table_name when 'chunk' then chunk_id = id and item_id is null
           else item_id = id and chunk_id is null end)
);
create index reembedding_item on reembedding (scope_key, item_id) where item_id is not null;
create index reembedding_chunk on reembedding (scope_key, chunk_id) where chunk_id is not null;

do $$
declare
    service name := current_setting('mnemic.service_role');
    own text := '(scope_key = any ((select string_to_array(current_setting(''mnemic.scopes'', true), '',''))::text[])'
                ' or starts_with(scope_key, (select nullif(current_setting(''mnemic.sessions'', true), ''''))))';
    name text;
begin
    foreach name in array array['embedding_settings', 'reembedding'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy maintenance on %I to %I using (true) with check (true)',
                       name, current_user);
        execute format('create policy own_scopes on %I to %I using %s with check %s', name, service, own, own);
        execute format('grant select, insert, update, delete on %I to %I', name, service);
    end loop;
    execute format('grant update (model_id) on app_user to %I', service);
end $$;
