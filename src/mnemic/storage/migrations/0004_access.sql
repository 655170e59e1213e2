-- Who may see what: projects with members and roles, and each user's word on being remembered.

-- null: not asked yet. The log of what was said when is another table; this is what a transaction reads.
alter table app_user add column remember text check (remember in ('granted', 'refused'));

create table project (
    scope_key  text primary key,
    project_id text not null unique,
    name_enc   bytea,
    created_by text not null,
    created_at timestamptz not null default now(),
    version    int not null default 1 check (version > 0)
);

create table project_member (
    scope_key text not null references project on delete cascade,
    user_id   text not null,
    role      text not null check (role in ('owner', 'admin', 'editor', 'viewer')),
    since     timestamptz not null default now(),
    primary key (scope_key, user_id)
);
create index project_member_user on project_member (user_id);

-- A project has a key of its own, for what is found and for its name, and one an author for what they wrote.
alter table data_key add column author_id text not null default '';
drop index data_key_current;
create unique index data_key_current on data_key (scope_key, author_id) where retired_at is null;

-- What belongs to a project has an author and a visibility, its chunks too: one look at the row decides.
alter table resource add column visibility text not null default 'members'
    check (visibility in ('public', 'members', 'owner_only'));
alter table chunk add column owner_id text;
alter table chunk add column visibility text not null default 'members'
    check (visibility in ('public', 'members', 'owner_only'));
alter table chunk_draft add column owner_id text;

-- What only its author sees is nobody else's duplicate.
drop index memory_item_exact, resource_content, resource_uri;
create unique index memory_item_exact on memory_item
    (scope_key, content_mac, (case when visibility = 'owner_only' then owner_id else '' end))
    where status in ('active', 'pending');
create unique index resource_content on resource
    (scope_key, collection, content_mac, (case when visibility = 'owner_only' then owner_id else '' end));
create unique index resource_uri on resource
    (scope_key, collection, uri_mac, (case when visibility = 'owner_only' then owner_id else '' end));

-- The role of this transaction's user in its project, null without one. As the owner, for it reads the
-- members before anybody may see them; what it tells is the asker's own role.
create function my_role() returns text
    language sql stable security definer parallel safe set search_path from current
as $$
    select role from project_member
    where scope_key = current_setting('mnemic.project', true) and user_id = current_setting('mnemic.actor', true)
$$;

-- Whether this transaction's user has just made its project, which has no member yet.
create function founding() returns boolean
    language sql stable security definer set search_path from current
as $$
    select exists (select from project where scope_key = current_setting('mnemic.project', true)
                   and created_by = current_setting('mnemic.actor', true))
       and not exists (select from project_member where scope_key = current_setting('mnemic.project', true))
$$;

-- Takes a project with everything in it, what its owner may not see included, and counts; the rows are only
-- counted unless "really". Nobody but an owner.
create function drop_project(really boolean, out items bigint, out resources bigint, out members bigint)
    language plpgsql security definer set search_path from current
as $$
declare
    project_scope text := current_setting('mnemic.project', true);
begin
    if my_role() is distinct from 'owner' then
        raise insufficient_privilege using message = 'only an owner deletes a project';
    end if;
    select count(*) into items from memory_item where scope_key = project_scope;
    select count(*) into resources from resource where scope_key = project_scope;
    select count(*) into members from project_member where scope_key = project_scope;
    if really then
        delete from memory_item where scope_key = project_scope;
        delete from resource where scope_key = project_scope;
        delete from chunk_draft where scope_key = project_scope;
        delete from data_key where scope_key = project_scope;
        delete from project where scope_key = project_scope;
    end if;
end $$;

do $$
declare
    service name := current_setting('mnemic.service_role');
    here text := '(scope_key = (select nullif(current_setting(''mnemic.project'', true), '''')))';
    me text := '(select nullif(current_setting(''mnemic.actor'', true), ''''))';
    my_role text := '(select my_role())';
    mine text := format('(owner_id = %s)', me);
    seen text := format('(%s is not null and (visibility <> ''owner_only'' or %s))', my_role, mine);
    created text := format('(%s in (''owner'', ''admin'', ''editor'') and %s)', my_role, mine);
    changed text := format('(%s in (''owner'', ''admin'') and (visibility <> ''owner_only'' or %2$s)'
                           ' or %1$s = ''editor'' and %2$s)', my_role, mine);
    of_item text := 'exists (select from memory_item m where m.scope_key = %1$I.scope_key and m.id = %1$I.%2$I)';
    name text;
    entry text[];
begin
    foreach name in array array['project', 'project_member'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy maintenance on %I to %I using (true) with check (true)', name, current_user);
    end loop;

    -- projects and members: members see both, owners and admins run them, an owner's place is an owner's to give
    execute format('create policy founded on project for insert to %I with check (%s and created_by = %s)',
                   service, here, me);
    execute format('create policy joined on project for select to %I using (exists (select from project_member p'
                   ' where p.scope_key = project.scope_key and p.user_id = %s)'
                   ' or %s and created_by = %2$s and (select founding()))', service, me, here);
    execute format('create policy renamed on project for update to %I using (%s and %s in (''owner'', ''admin''))',
                   service, here, my_role);
    execute format('create policy known on project_member for select to %I'
                   ' using (user_id = %s or %s and %s is not null)', service, me, here, my_role);
    execute format('create policy admitted on project_member for insert to %I with check (%s and'
                   ' (%s = ''owner'' or %3$s = ''admin'' and role <> ''owner'''
                   '  or user_id = %s and role = ''owner'' and (select founding())))', service, here, my_role, me);
    execute format('create policy changed on project_member for update to %I'
                   ' using (%s and (%s = ''owner'' or %3$s = ''admin'' and role <> ''owner''))', service, here, my_role);
    execute format('create policy gone on project_member for delete to %I using (%s and'
                   ' (%s = ''owner'' or %3$s = ''admin'' and role <> ''owner'' or user_id = %s))',
                   service, here, my_role, me);
    execute format('grant select, insert, update (name_enc, version) on project to %I', service);
    execute format('grant select, insert, update (role), delete on project_member to %I', service);

    -- keys of a project: every member opens with them, whoever writes makes the own
    execute format('create policy of_projects on data_key for select to %I using (exists'
                   ' (select from project_member p where p.scope_key = data_key.scope_key and p.user_id = %s))',
                   service, me);
    execute format('create policy of_project on data_key for insert to %I with check (%s and author_id in ('''', %s)'
                   ' and (%s in (''owner'', ''admin'', ''editor'') or (select founding())))', service, here, me, my_role);

    -- what a project holds
    foreach name in array array['memory_item', 'resource', 'chunk'] loop
        execute format('create policy project_read on %I for select to %I using (%s and %s)', name, service, here, seen);
        execute format('create policy project_create on %I for insert to %I with check (%s and %s and %s)',
                       name, service, here, created,
                       case name when 'chunk' then 'exists (select from resource r where r.scope_key = chunk.scope_key'
                           ' and r.id = chunk.resource_id and r.owner_id = chunk.owner_id'
                           ' and r.visibility = chunk.visibility)' else 'true' end);
        execute format('create policy project_edit on %I for update to %I using (%s and %s)',
                       name, service, here, changed);
        execute format('create policy project_delete on %I for delete to %I using (%s and %s)',
                       name, service, here, changed);
    end loop;
    -- an earlier version stays its author's, whoever made the later one
    execute format('create policy project_history on memory_item for insert to %I with check (%s and %s'
                   ' and status = ''superseded'' and superseded_by is not null)', service, here, changed);
    execute format('create policy project_drafts on chunk_draft to %I using (%s and %s)', service, here, created);
    execute format('create policy project_items on item_usage to %I using (%s and %s is not null and %s)',
                   service, here, my_role, format(of_item, 'item_usage', 'id'));
    execute format('create policy project_items on verification for select to %I using (%s and %s is not null and %s)',
                   service, here, my_role, format(of_item, 'verification', 'item_id'));
    -- whoever writes may say that what another wrote is not so any more: its author is asked
    foreach entry slice 1 in array array[
        ['insert', 'with check', ' or reason = ''contested'''], ['update', 'using', '']] loop
        execute format('create policy %I on verification for %s to %I %s (%s and exists (select from memory_item m'
                       ' where m.scope_key = verification.scope_key and m.id = verification.item_id'
                       ' and (%s in (''owner'', ''admin'') or %6$s = ''editor'' and (m.owner_id = %7$s%8$s))))',
                       'project_' || entry[1], entry[1], service, entry[2], here, my_role, me, entry[3]);
    end loop;

    foreach name in array array['my_role()', 'founding()', 'drop_project(boolean)'] loop
        -- temporary tables last: without this they would come first, and the service may make some
        execute format('alter function %s set search_path = %I, pg_temp', name, current_schema());
    end loop;
    execute format('grant update (remember) on app_user to %I', service);
    -- whose an item is, and where it lies, is settled when it is written
    execute format('revoke update on memory_item from %I', service);
    execute format('grant update (memory_type, content_enc, content_mac, confidence, visibility, status, reason_enc,'
                   ' metadata_enc, recorded_at, valid_from, valid_to, retired_at, superseded_by, version, embedding,'
                   ' model_id, lexemes, n_tokens, slots, script) on memory_item to %I', service);
    execute format('grant update (visibility) on resource to %I', service);
    execute format('grant update (visibility) on chunk to %I', service);
    revoke all on function my_role(), founding(), drop_project(boolean) from public;
    execute format('grant execute on function my_role(), founding(), drop_project(boolean) to %I', service);
end $$;
