-- The store of agents: values by namespace and key, and the keys under which memories were put.

-- Namespace, key and value are sealed. entry_mac is the keyed hash of namespace and key, prefixes_mac those of
-- the namespace and of everything that it begins with, fields_mac those of declared fields and their values.
-- A row holds a value, or names the memory that was put there (item_id; made: by this put and no other way).
-- id is new with every put; whoever put last owns the row, and it is sealed with their key.
create table store_item (
    scope_key    text not null,
    entry_mac    bytea not null,
    id           uuid not null,
    owner_id     text not null,
    prefixes_mac bytea[] not null check (cardinality(prefixes_mac) > 1),
    fields_mac   bytea[] not null default '{}',
    entry_enc    bytea not null,
    value_enc    bytea,
    item_id      uuid,
    made         boolean not null default false,
    embeddings   halfvec[] not null default '{}',
    model_id     smallint,
    lexemes      tsvector not null default '',
    n_tokens     int not null default 0,
    ttl          interval,
    expires_at   timestamptz,
    created_at   timestamptz not null default clock_timestamp(),
    updated_at   timestamptz not null default clock_timestamp(),
    primary key (scope_key, entry_mac),
    foreign key (scope_key, item_id) references memory_item (scope_key, id) on delete cascade,
    check ((value_enc is null) <> (item_id is null)),
    check ((ttl is null) = (expires_at is null))
);
create index store_item_recent on store_item (scope_key, updated_at desc, id desc);
create index store_item_expires on store_item (scope_key, expires_at) where expires_at is not null;
create index store_item_memory on store_item (scope_key, item_id) where item_id is not null;

do $$
declare
    service name := current_setting('mnemic.service_role');
    place name := current_schema();
    own text := '(scope_key = any ((select string_to_array(current_setting(''mnemic.scopes'', true), '',''))::text[])'
                ' or starts_with(scope_key, (select nullif(current_setting(''mnemic.sessions'', true), ''''))))';
    here text := '(scope_key = (select nullif(current_setting(''mnemic.project'', true), '''')))';
    my_role text := '(select my_role())';
    mine text := '(owner_id = (select nullif(current_setting(''mnemic.actor'', true), '''')))';
    changed text := format('(%s in (''owner'', ''admin'') or %1$s = ''editor'' and %s)', my_role, mine);
begin
    alter table store_item enable row level security;
    alter table store_item force row level security;
    execute format('create policy maintenance on store_item to %I using (true) with check (true)', current_user);
    execute format('create policy own_scopes on store_item to %I using %s with check %s', service, own, own);
    execute format('create policy project_read on store_item for select to %I using (%s and %s is not null)',
                   service, here, my_role);
    execute format('create policy project_create on store_item for insert to %I with check (%s and %s and %s)',
                   service, here, format('%s in (''owner'', ''admin'', ''editor'')', my_role), mine);
    execute format('create policy project_edit on store_item for update to %I using (%s and %s)',
                   service, here, changed);
    execute format('create policy project_delete on store_item for delete to %I using (%s and %s)',
                   service, here, changed);
    execute format('grant select, insert, delete, update (id, owner_id, prefixes_mac, fields_mac, entry_enc, value_enc, item_id,'
                   ' made, embeddings, model_id, lexemes, n_tokens, ttl, expires_at, created_at, updated_at)'
                   ' on store_item to %I', service);

    -- What was stored in a project goes with it, whoever ends it.
    execute format($f$
        create function empty_store() returns trigger
            language plpgsql security definer set search_path = %I, pg_temp
        as $body$
        begin
            delete from store_item where scope_key = old.scope_key;
            return old;
        end $body$ $f$, place);
    revoke all on function empty_store() from public;
    create trigger store_of_project before delete on project for each row execute function empty_store();
end $$;
