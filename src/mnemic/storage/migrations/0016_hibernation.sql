-- Hibernation: of a user who stays away, what a prompt does not need is packed, and later moved out of the database.
-- And the jobs of the night: who runs which, and where is work for them?

-- asleep_at: what is not core lies in profile_archive. The keyed hashes of e-mail and phone stay.
alter table user_profile
    add column asleep_at timestamptz,
    drop constraint user_profile_check,
    drop constraint user_profile_check1,
    add constraint user_profile_email_known check (email_mac is null or email_enc is not null or asleep_at is not null),
    add constraint user_profile_phone_known check (phone_mac is null or phone_enc is not null or asleep_at is not null);

-- One value with the fields and the vector, bound to the profile's version; null once it lies in the cold store.
create table profile_archive (
    scope_key   text primary key,
    version     int not null check (version > 0),
    archive_enc bytea,
    archived_at timestamptz not null
);

-- Where in the cold store does it lie? The name is random and tells nothing.
create table cold_object (
    scope_key text not null,
    name      text not null,
    n_bytes   bigint not null check (n_bytes > 0),
    sha256    text not null,
    stored_at timestamptz not null default now(),
    primary key (scope_key, name)
);

-- Objects that nobody refers to: to be removed from the store from due_at on. It outlives the user, and holds
-- nothing of one. Who is about to write an object notes it here first, and takes the note back with its row.
create table cold_removal (
    name   text primary key,
    due_at timestamptz not null
);

-- The jobs of `mnemic worker`: when is one due, who is at it until when, and how did it go the last time?
create table job_run (
    name       text primary key,
    due_at     timestamptz not null default '-infinity',
    held_by    uuid,
    held_until timestamptz,
    began_at   timestamptz,
    ended_at   timestamptz,
    code       text,
    counts     jsonb,
    runs       bigint not null default 0,
    failures   bigint not null default 0,
    check ((held_by is null) = (held_until is null))
);

create index app_user_away on app_user (last_active_at) where status <> 'erased';
create index session_idle on session (last_active_at) where closed_at is null;
create index task_state_over on task_state (updated_at) where status <> 'running';

-- Until now nobody noted when a user was there: everybody was, now.
update app_user set last_active_at = greatest(last_active_at, now());

do $$
declare
    service name := current_setting('mnemic.service_role');
    place name := current_schema();
    private name := current_setting('mnemic.private_schema');
    own text := '(scope_key = any ((select string_to_array(current_setting(''mnemic.scopes'', true), '',''))::text[])'
                ' or starts_with(scope_key, (select nullif(current_setting(''mnemic.sessions'', true), ''''))))';
    mine text := 'coalesce(_scope = any (string_to_array(current_setting(''mnemic.scopes'', true), '','')), false)';
    before text;
    after text;
    name text;
    function text;
begin
    foreach name in array array['profile_archive', 'cold_object'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy maintenance on %I to %I using (true) with check (true)', name, current_user);
        execute format('create policy own_scopes on %I to %I using %s with check %s', name, service, own, own);
    end loop;
    execute format('grant select, insert, update (archive_enc), delete on profile_archive to %I', service);
    execute format('grant select, insert, delete on cold_object to %I', service);
    execute format('grant select, insert, update (due_at), delete on cold_removal to %I', service);
    execute format('grant select, insert, update (due_at, held_by, held_until, began_at, ended_at, code, counts,'
                   ' runs, failures) on job_run to %I', service);
    execute format('grant update (asleep_at) on user_profile to %I', service);
    execute format('grant update (last_active_at) on app_user to %I', service);
    execute format('grant delete on task_state to %I', service);

    -- Whoever takes the row of an object away (its user woke, or was erased) leaves the object to be removed.
    execute format($f$
        create function remove_cold_object() returns trigger
            language plpgsql security definer set search_path = %I, pg_temp
        as $body$
        begin
            insert into cold_removal (name, due_at) values (old.name, clock_timestamp())
            on conflict (name) do update set due_at = excluded.due_at;
            return null;
        end $body$ $f$, place);
    create trigger cold_object_gone after delete on cold_object for each row execute function remove_cold_object();

    -- Lets a user sleep or wake: themselves alone, and nobody who was erased.
    execute format($f$
        create function put_status(_scope text, _status text, _at timestamptz) returns boolean
            language plpgsql security definer set search_path = %1$I, pg_temp
        as $body$
        begin
            if _status not in ('active', 'dormant') then
                return false;
            end if;
            update app_user u set status = _status, last_active_at = greatest(u.last_active_at, _at)
            where %2$s and u.scope_key = _scope and u.status in ('active', 'dormant');
            return found;
        end $body$ $f$, place, mine);

    -- Who has been away, and whose archive has lain here for long? Ids only, by scope; who acts does so as that user.
    execute format($f$
        create function users_away(before timestamptz, after_scope text, most int)
            returns table (scope_key text, user_id text)
            language sql stable security definer set search_path = pg_catalog, pg_temp
        as $body$
            select u.scope_key, u.user_id from %1$I.app_user u
            where u.status = 'active' and u.last_active_at < before and u.remember is distinct from 'refused'
              and u.scope_key > after_scope
            order by u.scope_key
            limit least(most, 1000)
        $body$ $f$, place);
    execute format($f$
        create function archives_to_cool(before timestamptz, after_scope text, most int)
            returns table (scope_key text, user_id text)
            language sql stable security definer set search_path = pg_catalog, pg_temp
        as $body$
            select u.scope_key, u.user_id
            from %1$I.profile_archive a join %1$I.app_user u on u.scope_key = a.scope_key
            where a.archive_enc is not null and u.status = 'dormant' and u.last_active_at < before
              and u.remember is distinct from 'refused' and u.scope_key > after_scope
            order by u.scope_key
            limit least(most, 1000)
        $body$ $f$, place);

    -- Which sessions lie idle, and which tasks have long been over?
    execute format($f$
        create function sessions_idle(before timestamptz, most int)
            returns table (scope_key text, user_id text, session_id text, project_id text)
            language sql stable security definer set search_path = pg_catalog, pg_temp
        as $body$
            select s.scope_key, s.user_id, s.session_id, s.project_id
            from %1$I.session s join %1$I.app_user u on u.user_id = s.user_id
            where s.closed_at is null and s.last_active_at < before
              and u.status <> 'erased' and u.remember is distinct from 'refused'
            order by s.last_active_at, s.scope_key, s.session_id
            limit least(most, 1000)
        $body$ $f$, place);
    execute format($f$
        create function tasks_over(before timestamptz, most int)
            returns table (scope_key text, user_id text, task_id uuid)
            language sql stable security definer set search_path = pg_catalog, pg_temp
        as $body$
            select t.scope_key, t.user_id, t.task_id from %1$I.task_state t
            where t.status <> 'running' and t.updated_at < before
            order by t.updated_at, t.task_id
            limit least(most, 1000)
        $body$ $f$, place);

    -- Takes what has expired: values of stores and of sessions, answers of requests. Tells how many rows.
    execute format($f$
        create function drop_expired(most int, out entries bigint, out states bigint, out answers bigint)
            language plpgsql security definer set search_path = pg_catalog, pg_temp
        as $body$
        begin
            delete from %1$I.store_item t where t.ctid = any (array(
                select s.ctid from %1$I.store_item s where s.expires_at <= clock_timestamp()
                limit least(most, 10000) for update skip locked));
            get diagnostics entries = row_count;
            delete from %1$I.session_state t where t.ctid = any (array(
                select s.ctid from %1$I.session_state s where s.expires_at <= clock_timestamp()
                limit least(most, 10000) for update skip locked));
            get diagnostics states = row_count;
            delete from %1$I.idempotency_key t where t.ctid = any (array(
                select s.ctid from %1$I.idempotency_key s where s.expires_at <= clock_timestamp()
                limit least(most, 10000) for update skip locked));
            get diagnostics answers = row_count;
        end $body$ $f$, place);
    execute format($f$
        create function count_expired(out entries bigint, out states bigint, out answers bigint)
            language sql stable security definer set search_path = pg_catalog, pg_temp
        as $body$
            select (select count(*) from %1$I.store_item s where s.expires_at <= clock_timestamp()),
                   (select count(*) from %1$I.session_state s where s.expires_at <= clock_timestamp()),
                   (select count(*) from %1$I.idempotency_key s where s.expires_at <= clock_timestamp())
        $body$ $f$, place);

    -- The fold of a history goes to sleep with its profile, and comes back with it: to whom it belongs alone. An
    -- empty one stays in its place, which does not open, so that no history looks shorter than it is.
    execute format($f$
        create function take_profile_fold(_scope text, _fold_no int) returns boolean
            language plpgsql security definer set search_path = %1$I, pg_temp
        as $body$
        begin
            update %2$I.profile_history_fold f set fold_enc = ''
            where %3$s and f.scope_key = _scope and f.fold_no = _fold_no and f.fold_enc <> '';
            return found;
        end $body$ $f$, place, private, mine);
    execute format($f$
        create function give_profile_fold(_scope text, _fold_no int, _fold bytea) returns boolean
            language plpgsql security definer set search_path = %1$I, pg_temp
        as $body$
        begin
            update %2$I.profile_history_fold f set fold_enc = _fold
            where %3$s and f.scope_key = _scope and f.fold_no = _fold_no and f.fold_enc = '';
            return found;
        end $body$ $f$, place, private, mine);
    execute format($f$
        create function drop_empty_fold(_scope text) returns boolean
            language plpgsql security definer set search_path = %1$I, pg_temp
        as $body$
        begin
            delete from %2$I.profile_history_fold f where %3$s and f.scope_key = _scope and f.fold_enc = '';
            return found;
        end $body$ $f$, place, private, mine);

    -- How many bytes of a user's profile lie in this database: its row, its history, its archive.
    execute format($f$
        create function profile_bytes(_scope text) returns bigint
            language plpgsql stable security definer set search_path = %1$I, pg_temp
        as $body$
        begin
            if not %3$s then
                return null;
            end if;
            return coalesce((select pg_column_size(u.*) from user_profile u where u.scope_key = _scope), 0)
                + coalesce((select pg_column_size(a.*) from profile_archive a where a.scope_key = _scope), 0)
                + coalesce((select sum(pg_column_size(c.*)) from cold_object c where c.scope_key = _scope), 0)
                + coalesce((select sum(pg_column_size(h.*)) from %2$I.profile_history h where h.scope_key = _scope), 0)
                + coalesce((select pg_column_size(f.*) from %2$I.profile_history_fold f where f.scope_key = _scope), 0);
        end $body$ $f$, place, private, mine);

    -- A sleeper's profile is made anew when its user is back, not before.
    before := pg_get_functiondef('profiles_waiting(text[], int)'::regprocedure);
    after := replace(before, 'and u.status <> ''erased''', 'and u.status = ''active''');
    assert before <> after, 'profiles_waiting is another';
    execute after;

    -- As before, and the archive with its objects too.
    before := pg_get_functiondef('erase_user(boolean)'::regprocedure);
    after := replace(before, '''user_profile'', ''key_decision''',
                     '''cold_object'', ''profile_archive'', ''user_profile'', ''key_decision''');
    assert before <> after, 'erase_user is another';
    execute after;

    revoke all on function remove_cold_object() from public;
    foreach function in array array[
        'users_away(timestamptz, text, int)', 'archives_to_cool(timestamptz, text, int)',
        'sessions_idle(timestamptz, int)', 'tasks_over(timestamptz, int)', 'drop_expired(int)', 'count_expired()',
        'put_status(text, text, timestamptz)', 'take_profile_fold(text, int)', 'give_profile_fold(text, int, bytea)', 'drop_empty_fold(text)',
        'profile_bytes(text)'] loop
        execute format('revoke all on function %s from public', function);
        execute format('grant execute on function %s to %I', function, service);
    end loop;
end $$;
