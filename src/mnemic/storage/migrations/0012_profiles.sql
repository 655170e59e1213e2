-- Profiles: what a prompt should always hold of a user and of a project, made of their items.

-- Scopes whose profile is behind its items: one row a transaction that changed some, written by it. No data,
-- no claim: whoever makes the profile anew takes the rows in the same transaction, so a crash gives them back.
create table outbox (
    scope_key text not null,
    xact      xid8 not null,
    asked_at  timestamptz not null default now(),
    primary key (scope_key, xact)
);

-- Every field is sealed, with the ids of the items it came from and whether its user wrote it. stale_at is
-- when the first of its items ends. The vector is where the user's intents lie, on average.
create table user_profile (
    scope_key                 text primary key,
    user_id                   text not null,
    username_enc              bytea,
    background_enc            bytea,
    profession_enc            bytea,
    communication_style_enc   bytea,
    response_format_enc       bytea,
    language_preference_enc   bytea,
    characteristics_enc       bytea,
    content_enc               bytea,
    expertise_areas_enc       bytea,
    programming_languages_enc bytea,
    frequently_used_tools_enc bytea,
    email_enc                 bytea,
    email_mac                 bytea,
    phone_enc                 bytea,
    phone_mac                 bytea,
    preferences_enc           bytea,
    behavior_vector           halfvec,
    behavior_model_id         smallint,
    behavior_weight           real,
    behavior_at               timestamptz,
    version                   int not null default 1 check (version > 0),
    stale_at                  timestamptz,
    is_deleted                boolean not null default false,
    deleted_at                timestamptz,
    created_at                timestamptz not null default now(),
    updated_at                timestamptz not null default now(),
    check (email_mac is null or email_enc is not null),
    check (phone_mac is null or phone_enc is not null),
    check (is_deleted = (deleted_at is not null))
);
create index user_profile_email on user_profile (email_mac) where email_mac is not null;
create index user_profile_phone on user_profile (phone_mac) where phone_mac is not null;
create index user_profile_stale on user_profile (stale_at) where stale_at is not null;

create table project_profile (
    scope_key            text primary key references project on delete cascade,
    project_goal_enc     bytea,
    tech_stack_enc       bytea,
    constraints_enc      bytea,
    team_conventions_enc bytea,
    current_phase_enc    bytea,
    version              int not null default 1 check (version > 0),
    stale_at             timestamptz,
    created_at           timestamptz not null default now(),
    updated_at           timestamptz not null default now()
);
create index project_profile_stale on project_profile (stale_at) where stale_at is not null;

-- Who refused makes no profile of a project for others.
create index app_user_refused on app_user (user_id) where remember = 'refused';

create table key_decision (
    scope_key    text not null references project on delete cascade,
    item_id      uuid not null,
    item_version int not null,
    decision_enc bytea not null,
    reason_enc   bytea,
    decided_at   timestamptz not null,
    primary key (scope_key, item_id)
);

do $$
declare
    service name := current_setting('mnemic.service_role');
    place name := current_schema();
    own text := '(scope_key = any ((select string_to_array(current_setting(''mnemic.scopes'', true), '',''))::text[])'
                ' or starts_with(scope_key, (select nullif(current_setting(''mnemic.sessions'', true), ''''))))';
    here text := '(scope_key = (select nullif(current_setting(''mnemic.project'', true), '''')))';
    member text := format('(%s and (select my_role()) is not null)', here);
    runs text := format('(%s and (select my_role()) in (''owner'', ''admin''))', here);
    name text;
    function text;
begin
    foreach name in array array['outbox', 'user_profile', 'project_profile', 'key_decision'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy maintenance on %I to %I using (true) with check (true)', name, current_user);
    end loop;
    foreach name in array array['outbox', 'user_profile'] loop
        execute format('create policy own_scopes on %I to %I using %s with check %s', name, service, own, own);
    end loop;
    -- members see a project's, its owners and admins make it
    foreach name in array array['outbox', 'project_profile', 'key_decision'] loop
        execute format('create policy project_read on %I for select to %I using %s', name, service, member);
        execute format('create policy project_delete on %I for delete to %I using %s', name, service, runs);
    end loop;
    foreach name in array array['project_profile', 'key_decision'] loop
        execute format('create policy project_create on %I for insert to %I with check %s', name, service, runs);
        execute format('create policy project_edit on %I for update to %I using %s', name, service, runs);
    end loop;
    execute format('grant select, delete on outbox to %I', service);
    execute format('grant select, insert, update (username_enc, background_enc, profession_enc,'
                   ' communication_style_enc, response_format_enc, language_preference_enc, characteristics_enc,'
                   ' content_enc, expertise_areas_enc, programming_languages_enc, frequently_used_tools_enc,'
                   ' email_enc, email_mac, phone_enc, phone_mac, preferences_enc, behavior_vector,'
                   ' behavior_model_id, behavior_weight, behavior_at, version, stale_at, is_deleted, deleted_at,'
                   ' updated_at) on user_profile to %I', service);
    execute format('grant select, insert, update (project_goal_enc, tech_stack_enc, constraints_enc,'
                   ' team_conventions_enc, current_phase_enc, version, stale_at, updated_at)'
                   ' on project_profile to %I', service);
    execute format('grant select, insert, update (item_version, decision_enc, reason_enc, decided_at), delete'
                   ' on key_decision to %I', service);

    -- Whatever statement changes an item, its transaction says so: as the owner, for no service writes here.
    execute format($f$
        create function ask_for_profile() returns trigger
            language plpgsql security definer set search_path = %I, pg_temp
        as $body$
        begin
            insert into outbox (scope_key, xact)
            values (coalesce(new.scope_key, old.scope_key), pg_current_xact_id())
            on conflict do nothing;
            return null;
        end $body$ $f$, place);
    create trigger profile_of_new after insert on memory_item for each row
        when (new.scope <> 'session' and new.status = 'active') execute function ask_for_profile();
    create trigger profile_of_changed
        after update of status, content_enc, memory_type, valid_from, valid_to, visibility on memory_item for each row
        when (new.scope <> 'session' and (old.status = 'active' or new.status = 'active'))
        execute function ask_for_profile();
    create trigger profile_of_gone after delete on memory_item for each row
        when (old.scope <> 'session' and old.status = 'active') execute function ask_for_profile();

    -- A user has a profile from the first contact on, an empty one.
    execute format($f$
        create function begin_profile() returns trigger
            language plpgsql security definer set search_path = %I, pg_temp
        as $body$
        begin
            insert into user_profile (scope_key, user_id) values (new.scope_key, new.user_id) on conflict do nothing;
            return null;
        end $body$ $f$, place);
    create trigger profile_of_user after insert on app_user for each row
        when (new.remember is distinct from 'refused') execute function begin_profile();
    insert into user_profile (scope_key, user_id)
    select u.scope_key, u.user_id from app_user u where u.remember is distinct from 'refused';
    insert into outbox (scope_key, xact)
    select distinct m.scope_key, pg_current_xact_id() from memory_item m
    where m.scope <> 'session' and m.status = 'active';

    -- Which profiles are behind, and as whom are they made? Ids only; whoever makes one acts as that user,
    -- under the policies above. Of a project it is an owner, or an admin.
    execute format($f$
        create function profiles_waiting(except_scopes text[], most int)
            returns table (scope_key text, user_id text, project_id text)
            language sql volatile security definer set search_path = pg_catalog, pg_temp
        as $body$
            with behind as (
                select o.scope_key from %1$I.outbox o
                union select p.scope_key from %1$I.user_profile p where p.stale_at <= clock_timestamp()
                union select p.scope_key from %1$I.project_profile p where p.stale_at <= clock_timestamp()
            )
            select b.scope_key, coalesce(u.user_id, h.user_id), p.project_id
            from behind b
            left join %1$I.app_user u on u.scope_key = b.scope_key
                and u.status <> 'erased' and u.remember is distinct from 'refused'
            left join %1$I.project p on p.scope_key = b.scope_key
            left join lateral (
                select m.user_id from %1$I.project_member m
                where m.scope_key = p.scope_key and m.role in ('owner', 'admin')
                  and not exists (select from %1$I.app_user a
                                  where a.user_id = m.user_id and a.remember = 'refused')
                order by m.role desc, m.since, m.user_id
                limit 1
            ) h on true
            where b.scope_key <> all (except_scopes) and coalesce(u.user_id, h.user_id) is not null
            limit least(most, 1000)
        $body$ $f$, place);

    -- A project takes what waits for its profile along.
    execute format($f$
        create or replace function drop_project(really boolean, out items bigint, out resources bigint, out members bigint)
            language plpgsql security definer set search_path = %I, pg_temp
        as $body$
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
                delete from outbox where scope_key = project_scope;
            end if;
        end $body$ $f$, place);

    -- The profile that this asker's prompt holds, in one round trip and as its caller: who asks, whether it is
    -- behind, and its fields in the order of the table. Few columns, for each costs the driver time. An erasure
    -- under way is not waited for: what it takes is shown until it is done.
    execute format($f$
        create function profile_of(_user_scope text, _with_key boolean)
        returns table (
            user_status text, remember text, key_epoch int, key_id uuid, wrapped bytea, kek_id text, behind boolean,
            fields bytea[], version int, created_at timestamptz, updated_at timestamptz)
            language plpgsql set plan_cache_mode = force_generic_plan
        as $body$
        #variable_conflict use_column
        begin
            perform set_config('mnemic.scopes', _user_scope, true);
            return query
            select a.status, a.remember, a.key_epoch, k.key_id, k.wrapped, k.kek_id,
                exists (select from %1$I.outbox o where o.scope_key = _user_scope)
                    or coalesce(u.stale_at <= now(), false),
                array[u.username_enc, u.background_enc, u.profession_enc, u.communication_style_enc,
                      u.response_format_enc, u.language_preference_enc, u.characteristics_enc, u.content_enc,
                      u.expertise_areas_enc, u.programming_languages_enc, u.frequently_used_tools_enc,
                      u.email_enc, u.phone_enc, u.preferences_enc],
                u.version, u.created_at, u.updated_at
            from (select) as always
            left join %1$I.app_user a on a.scope_key = _user_scope
            left join %1$I.user_profile u on u.scope_key = _user_scope
            left join %1$I.data_key k on _with_key and k.scope_key = _user_scope and k.author_id = ''
                and k.retired_at is null;
        end $body$ $f$, place);

    -- The same with the project's.
    execute format($f$
        create function profiles_of(
            _actor text, _project text, _user_scope text, _with_key boolean)
        returns table (
            user_status text, remember text, key_epoch int, key_id uuid, wrapped bytea, kek_id text, behind boolean,
            fields bytea[], version int, created_at timestamptz, updated_at timestamptz,
            role text, project_keys text, project_behind boolean, project_fields bytea[], project_version int,
            project_created_at timestamptz, project_updated_at timestamptz, decided uuid[], decisions bytea[],
            reasons bytea[], decided_at timestamptz[], decided_versions int[])
            language plpgsql set plan_cache_mode = force_generic_plan
        as $body$
        #variable_conflict use_column
        begin
            select p.user_status, p.remember, p.key_epoch, p.key_id, p.wrapped, p.kek_id, p.behind, p.fields,
                p.version, p.created_at, p.updated_at
            into user_status, remember, key_epoch, key_id, wrapped, kek_id, behind, fields, version, created_at,
                updated_at
            from %1$I.profile_of(_user_scope, _with_key) p;
            perform set_config('mnemic.project', _project, true), set_config('mnemic.actor', _actor, true);
            role := %1$I.my_role();
            select count(*) || ':' || max(k.key_id::text) into project_keys
            from %1$I.data_key k where k.scope_key = _project;
            select exists (select from %1$I.outbox o where o.scope_key = _project)
                    or coalesce(p.stale_at <= now(), false),
                array[p.project_goal_enc, p.tech_stack_enc, p.constraints_enc, p.team_conventions_enc,
                      p.current_phase_enc],
                p.version, p.created_at, p.updated_at
            into project_behind, project_fields, project_version, project_created_at, project_updated_at
            from (select) as always left join %1$I.project_profile p on p.scope_key = _project;
            select array_agg(d.item_id), array_agg(d.decision_enc), array_agg(d.reason_enc),
                array_agg(d.decided_at), array_agg(d.item_version)
            into decided, decisions, reasons, decided_at, decided_versions
            from (select * from %1$I.key_decision k where k.scope_key = _project
                  order by k.decided_at desc, k.item_id desc) d;
            return next;
        end $body$ $f$, place);

    revoke all on function ask_for_profile(), begin_profile() from public;
    foreach function in array array[
        'profiles_waiting(text[], int)', 'drop_project(boolean)',
        'profile_of(text, boolean)', 'profiles_of(text, text, text, boolean)'] loop
        execute format('revoke all on function %s from public', function);
        execute format('grant execute on function %s to %I', function, service);
    end loop;
end $$;
