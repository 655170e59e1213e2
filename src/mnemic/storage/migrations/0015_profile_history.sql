-- What profiles were: every change is a row, and a fold when it is old. Both lie in a schema beside this one that
-- the service may not enter; what it needs of them functions do, which look who asks as the policies would.
-- (TimescaleDB takes no compression under row-level security, and sealed values would not compress: hence folds.)

do $$
declare
    service name := current_setting('mnemic.service_role');
    place name := current_schema();
    private name := current_setting('mnemic.private_schema');
    timescale name := (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
                       where e.extname = 'timescaledb');
    own text := 'coalesce(_scope = any (string_to_array(current_setting(''mnemic.scopes'', true), '','')), false)';
    here text := '_scope = nullif(current_setting(''mnemic.project'', true), '''')';
    reads text := format('(%s or coalesce(%s and my_role() is not null, false))', own, here);
    writes text := format('(%s or coalesce(%s and my_role() in (''owner'', ''admin''), false))', own, here);
    function text;
begin
    execute format('revoke all on schema %I from public', private);

    -- A change is bound to the version that came of it. "begin" is an empty profile, "known" what was there when
    -- recording began. Times of one profile grow with its versions.
    execute format($f$
        create table %1$I.profile_history (
            scope_key   text not null,
            recorded_at timestamptz not null,
            version     int not null check (version > 0),
            cause       text not null check (cause in ('begin', 'known', 'items', 'edit', 'delete', 'model')),
            change_enc  bytea,
            primary key (scope_key, recorded_at),
            check ((cause = 'begin') = (change_enc is null))
        ) %2$s $f$, private, case when timescale is null then 'partition by range (recorded_at)' else '' end);
    execute format('alter table %I.profile_history alter change_enc set storage external', private);
    if timescale is not null then
        execute format('select %I.create_hypertable(%L::regclass, %L::name, chunk_time_interval => interval ''30 days'','
                       ' create_default_indexes => false)',
                       timescale, format('%I.profile_history', private), 'recorded_at');
    end if;

    -- What is old of one profile, as one value. fold_no is bound to it, so that an earlier one does not open.
    execute format($f$
        create table %1$I.profile_history_fold (
            scope_key text primary key,
            fold_no   int not null check (fold_no > 0),
            n_changes int not null check (n_changes > 0),
            first_at  timestamptz not null,
            last_at   timestamptz not null check (last_at >= first_at),
            folded_at timestamptz not null default clock_timestamp(),
            fold_enc  bytea not null
        ) $f$, private);
    execute format('alter table %I.profile_history_fold alter fold_enc set storage external', private);

    -- Makes the 30 days around a moment ready for rows, where the table has partitions of ours; chunks come by
    -- themselves. Tells whether it made some. Nothing is locked but the making of others.
    execute format($f$
        create function history_room(_at timestamptz) returns boolean
            language plpgsql security definer set search_path = pg_catalog, pg_temp
        as $body$
        declare
            _days constant bigint := 30 * 86400;
            _from timestamptz := to_timestamp(floor(extract(epoch from _at) / _days) * _days);
            _name text := 'profile_history_' || to_char(_from at time zone 'UTC', 'YYYYMMDD');
        begin
            if to_regclass(format('%%I.%%I', %1$L, _name)) is not null then
                return false;
            end if;
            if (select c.relkind <> 'p' from pg_class c where c.oid = '%1$I.profile_history'::regclass) then
                return false;
            end if;
            perform pg_advisory_xact_lock(hashtextextended('room in %1$I', 0));
            -- read from the table: what a session has cached of names may be from before the lock
            if exists (select from pg_class c where c.relnamespace = '%1$I'::regnamespace and c.relname = _name) then
                return false;
            end if;
            execute format('create table %%1$I.%%2$I (like %%1$I.profile_history including storage'
                           ' including constraints)', %1$L, _name);
            execute format('alter table %%1$I.profile_history attach partition %%1$I.%%2$I for values from (%%3$L) to (%%4$L)',
                           %1$L, _name, _from, _from + make_interval(secs => _days));
            return true;
        end $body$ $f$, private);

    -- Makes room for the days ahead of a moment, a hundred at least, and tells how many partitions that were.
    execute format($f$
        create function prepare_profile_history(_now timestamptz) returns int
            language sql volatile security definer set search_path = pg_catalog, pg_temp
        as $body$
            select count(*) filter (where %1$I.history_room(_now + n * interval '720 hours'))::int
            from generate_series(0, 4) n
        $body$ $f$, place);
    perform prepare_profile_history(now());

    -- A profile begins with its row, whoever writes that.
    execute format($f$
        create function begin_profile_history() returns trigger
            language plpgsql security definer set search_path = %1$I, pg_temp
        as $body$
        begin
            perform history_room(new.updated_at);
            insert into %2$I.profile_history (scope_key, recorded_at, version, cause)
            values (new.scope_key, new.updated_at, new.version, 'begin') on conflict do nothing;
            return null;
        end $body$ $f$, place, private);
    create trigger history_of_user after insert on user_profile for each row
        execute function begin_profile_history();
    create trigger history_of_project after insert on project_profile for each row
        execute function begin_profile_history();

    -- Records a change of a profile that the asker may write, in the transaction of that change; tells whether
    -- anything was recorded of the time before it.
    execute format($f$
        create function record_profile_change(
            _scope text, _version int, _at timestamptz, _cause text, _change bytea) returns boolean
            language plpgsql security definer set search_path = %1$I, pg_temp
        as $body$
        begin
            if not %3$s then
                raise insufficient_privilege using message = 'history is written by who writes the profile';
            end if;
            perform history_room(_at);
            insert into %2$I.profile_history (scope_key, recorded_at, version, cause, change_enc)
            values (_scope, _at, _version, _cause, _change);
            return exists (select from %2$I.profile_history h where h.scope_key = _scope and h.recorded_at < _at)
                or exists (select from %2$I.profile_history_fold f where f.scope_key = _scope);
        end $body$ $f$, place, private, writes);

    -- Changes of a profile that the asker may read, the newest or the oldest first: none of another.
    execute format($f$
        create function profile_changes(_scope text, _until timestamptz, _before int, _most int, _oldest boolean)
            returns table (recorded_at timestamptz, version int, cause text, change_enc bytea)
            language plpgsql stable security definer set search_path = %1$I, pg_temp
        as $body$
        begin
            if not %3$s then
                return;
            elsif _oldest then
                return query
                select h.recorded_at, h.version, h.cause, h.change_enc from %2$I.profile_history h
                where h.scope_key = _scope and h.recorded_at <= _until
                order by h.recorded_at
                limit _most;
            else
                return query
                select h.recorded_at, h.version, h.cause, h.change_enc from %2$I.profile_history h
                where h.scope_key = _scope and (_until is null or h.recorded_at <= _until)
                  and (_before is null or h.version < _before)
                order by h.recorded_at desc
                limit _most;
            end if;
        end $body$ $f$, place, private, reads);
    execute format($f$
        create function profile_fold(_scope text)
            returns table (fold_no int, n_changes int, first_at timestamptz, last_at timestamptz, fold_enc bytea)
            language plpgsql stable security definer set search_path = %1$I, pg_temp
        as $body$
        begin
            if %3$s then
                return query
                select f.fold_no, f.n_changes, f.first_at, f.last_at, f.fold_enc
                from %2$I.profile_history_fold f where f.scope_key = _scope;
            end if;
        end $body$ $f$, place, private, reads);

    -- Where is something to fold, and as whom? Ids only, as profiles_waiting tells them. Who sleeps is left in peace.
    execute format($f$
        create function profiles_to_fold(_before timestamptz, _except text[], _most int)
            returns table (scope_key text, user_id text, project_id text)
            language sql stable security definer set search_path = pg_catalog, pg_temp
        as $body$
            with old as (
                select distinct h.scope_key from %2$I.profile_history h
                where h.recorded_at < _before and h.scope_key <> all (_except)
            )
            select o.scope_key, coalesce(u.user_id, h.user_id), p.project_id
            from old o
            left join %1$I.app_user u on u.scope_key = o.scope_key
                and u.status = 'active' and u.remember is distinct from 'refused'
            left join %1$I.project p on p.scope_key = o.scope_key
            left join lateral (
                select m.user_id from %1$I.project_member m
                where m.scope_key = p.scope_key and m.role in ('owner', 'admin')
                  and not exists (select from %1$I.app_user a
                                  where a.user_id = m.user_id and a.remember = 'refused')
                order by m.role desc, m.since, m.user_id
                limit 1
            ) h on true
            where coalesce(u.user_id, h.user_id) is not null
            order by o.scope_key
            limit least(_most, 1000)
        $body$ $f$, place, private);

    -- Puts a fold in the place of the changes that are in it, and of the fold before: all of it or nothing.
    execute format($f$
        create function fold_profile_history(
            _scope text, _last_at timestamptz, _taken int, _fold_no int, _first_at timestamptz, _n_changes int,
            _fold bytea) returns void
            language plpgsql security definer set search_path = %1$I, pg_temp
        as $body$
        declare
            _gone int;
        begin
            if not %3$s then
                raise insufficient_privilege using message = 'history is folded for who writes the profile';
            end if;
            delete from %2$I.profile_history h where h.scope_key = _scope and h.recorded_at <= _last_at;
            get diagnostics _gone = row_count;
            insert into %2$I.profile_history_fold as f (scope_key, fold_no, n_changes, first_at, last_at, fold_enc)
            values (_scope, _fold_no, _n_changes, _first_at, _last_at, _fold)
            on conflict (scope_key) do update
            set fold_no = excluded.fold_no, n_changes = excluded.n_changes, first_at = excluded.first_at,
                last_at = excluded.last_at, folded_at = clock_timestamp(), fold_enc = excluded.fold_enc
            where f.fold_no = excluded.fold_no - 1;
            if not found or _gone <> _taken then
                raise serialization_failure using message = 'the history changed while it was folded';
            end if;
        end $body$ $f$, place, private, writes);

    -- Drops the chunks, or partitions, that lie before a moment and are empty, for everything in them was folded
    -- or erased; tells how many. One that is in use for two seconds stays until the next time.
    execute format($f$
        create function drop_profile_history(_before timestamptz) returns int
            language plpgsql security definer set search_path = pg_catalog, pg_temp
        as $body$
        declare
            _whole constant regclass := '%1$I.profile_history';
            _chunked constant boolean := (select c.relkind <> 'p' from pg_class c where c.oid = _whole);
            _part record;
            _used boolean;
            _n int := 0;
        begin
            if not pg_try_advisory_xact_lock(hashtextextended('drop in %1$I', 0)) then
                return 0;  -- somebody else is at it
            end if;
            perform set_config('lock_timeout', '2s', true);
            for _part in execute case when _chunked then
                'select format(''%%I.%%I'', chunk_schema, chunk_name) as name, range_start as since, range_end as until'
                ' from timescaledb_information.chunks where hypertable_schema = ' || quote_literal(%1$L) ||
                ' and hypertable_name = ''profile_history'' and range_end <= $1 order by range_start'
            else
                'select i.inhrelid::regclass::text as name, d.since, d.since + interval ''720 hours'' as until'
                ' from pg_inherits i join pg_class c on c.oid = i.inhrelid cross join lateral (select'
                ' to_date(right(c.relname, 8), ''YYYYMMDD'')::timestamp at time zone ''UTC'' as since) d'
                ' where i.inhparent = ' || _whole::oid || ' and d.since + interval ''720 hours'' <= $1'
                ' order by d.since'
            end using _before loop
                execute 'select exists (select from ' || _part.name || ')' into _used;
                continue when _used;
                begin
                    if not _chunked then
                        lock table only %1$I.profile_history in access exclusive mode;
                    end if;
                    execute 'lock table ' || _part.name || ' in access exclusive mode';
                    execute 'select exists (select from ' || _part.name || ')' into _used;
                    if _used then
                        continue;
                    elsif _chunked then
                        perform %2$s(_whole, older_than => _part.until, newer_than => _part.since);
                    else
                        execute 'drop table ' || _part.name;
                    end if;
                    _n := _n + 1;
                exception when lock_not_available or deadlock_detected then
                    null;
                end;
            end loop;
            return _n;
        end $body$ $f$, private,
        case when timescale is null then 'drop_chunks' else format('%I.drop_chunks', timescale) end);

    -- What a project was goes with it, whoever ends it.
    execute format($f$
        create function drop_project_history() returns trigger
            language plpgsql security definer set search_path = pg_catalog, pg_temp
        as $body$
        begin
            delete from %1$I.profile_history h where h.scope_key = old.scope_key;
            delete from %1$I.profile_history_fold f where f.scope_key = old.scope_key;
            return old;
        end $body$ $f$, private);
    create trigger history_of_project before delete on project for each row execute function drop_project_history();

    -- The history of projects that a user leaves, in which something of that user may be; and its place, free of it.
    execute format($f$
        create function history_to_leave()
            returns table (scope_key text, recorded_at timestamptz, row_no int, value bytea)
            language sql stable security definer set search_path = %1$I, pg_temp
        as $body$
            select h.scope_key, h.recorded_at, h.version, h.change_enc
            from %2$I.profile_history h join projects_to_leave() l on l.scope_key = h.scope_key
            where not l.ends and h.change_enc is not null
            union all
            select f.scope_key, null, f.fold_no, f.fold_enc
            from %2$I.profile_history_fold f join projects_to_leave() l on l.scope_key = f.scope_key
            where not l.ends
        $body$ $f$, place, private);
    execute format($f$
        create function leave_history(_scope text, _recorded_at timestamptz, _fresh bytea) returns void
            language plpgsql security definer set search_path = %1$I, pg_temp
        as $body$
        begin
            if not exists (select from keys_to_leave() k where k.scope_key = _scope and k.author_id = ''
                           and uuid_send(k.key_id) = substr(_fresh, 1, 16)) then
                raise insufficient_privilege using message = 'what is left is sealed by its project';
            end if;
            if _recorded_at is null then
                update %2$I.profile_history_fold f set fold_enc = _fresh where f.scope_key = _scope;
            else
                update %2$I.profile_history h set change_enc = _fresh
                where h.scope_key = _scope and h.recorded_at = _recorded_at;
            end if;
        end $body$ $f$, place, private);

    -- As before, and the history too.
    execute format($f$
        create or replace function erase_user(really boolean) returns table (table_name text, n_rows bigint)
            language plpgsql security definer set search_path = %1$I, %2$I, pg_temp
        as $body$
        declare
            -- rows that hang on others come first, so that every row is counted and none goes by cascade
            personal text[] := array[
                'checkpoint_archive', 'session_state_snapshot', 'checkpoint_writes', 'checkpoint_blobs', 'checkpoints',
                'thread', 'task_events', 'task_state', 'store_item', 'item_usage', 'verification', 'reembedding', 'memory_item', 'chunk',
                'chunk_draft', 'resource', 'extraction_log', 'message', 'session_state', 'session', 'embedding_settings',
                'consent_log', 'idempotency_key', 'api_key', 'data_key', 'profile_history', 'profile_history_fold',
                'user_profile', 'key_decision', 'project_profile', 'project_member', 'project', 'app_user', 'outbox'];
            counts bigint[] := array_fill(0::bigint, array[cardinality(personal)]);
            who text;
            own text;
            sessions text;
            models int[];
            leaving record;
            written text[];
            ending text[];
            n bigint;
        begin
            select e.who, e.own, e.sessions into who, own, sessions from scope_to_erase() e;
            perform hold_for_erasure();
            models := array(select s.model_id from embedding_settings s where s.scope_key = own
                            union select u.model_id from app_user u where u.scope_key = own);
            written := array(select l.scope_key from projects_to_leave() l);
            ending := array(select l.scope_key from projects_to_leave() l where l.ends);
            for leaving in select * from projects_to_leave() loop
                if leaving.heir is not null then
                    update project_member m set role = 'owner'
                    where m.scope_key = leaving.scope_key and m.user_id = leaving.heir;
                end if;
            end loop;
            for i in 1 .. cardinality(personal) loop
                execute format(
                    'with gone as (delete from %%I t where (%%s) %%s returning 1) select count(*) from gone',
                    personal[i],
                    case when personal[i] in ('checkpoint_writes', 'checkpoint_blobs', 'checkpoints')
                        then 't.thread_id in (select h.thread_id from thread h where h.scope_key = $1)'
                        when personal[i] in ('profile_history', 'profile_history_fold')
                        then 't.scope_key = any (array[$1] || $3)'
                        else 't.scope_key = $1 or starts_with(t.scope_key, $2) or t.scope_key = any ($3)' end,
                    case personal[i]
                        when 'item_usage' then 'or (t.scope_key = any ($5) and exists (select from memory_item m'
                            ' where m.scope_key = t.scope_key and m.id = t.id and m.owner_id = $4))'
                        when 'verification' then 'or (t.scope_key = any ($5) and exists (select from memory_item m'
                            ' where m.scope_key = t.scope_key and m.id = t.item_id and m.owner_id = $4))'
                        when 'reembedding' then 'or (t.scope_key = any ($5) and'
                            ' (exists (select from memory_item m where m.scope_key = t.scope_key'
                            '          and m.id = t.item_id and m.owner_id = $4)'
                            '  or exists (select from chunk c join resource r on r.scope_key = c.scope_key'
                            '             and r.id = c.resource_id where c.scope_key = t.scope_key'
                            '             and c.id = t.chunk_id and r.owner_id = $4)))'
                        when 'chunk' then 'or (t.scope_key = any ($5) and exists (select from resource r'
                            ' where r.scope_key = t.scope_key and r.id = t.resource_id and r.owner_id = $4))'
                        when 'memory_item' then 'or (t.scope_key = any ($5) and t.owner_id = $4)'
                        when 'store_item' then 'or (t.scope_key = any ($5) and t.owner_id = $4)'
                        when 'resource' then 'or (t.scope_key = any ($5) and t.owner_id = $4)'
                        when 'chunk_draft' then 'or (t.scope_key = any ($5) and t.owner_id = $4)'
                        when 'data_key' then 'or t.author_id = $4'
                        when 'project_member' then 'or t.user_id = $4'
                        else ''
                    end)
                into n using own, sessions, ending, who, written;
                counts[i] := n;
            end loop;
            update project p set created_by = '' where p.created_by = who;
            delete from embedding_model e
            where e.own and e.model_id = any (models)
              and not exists (select from memory_item m where m.model_id = e.model_id)
              and not exists (select from chunk c where c.model_id = e.model_id);
            if not really then
                raise sqlstate 'MN000';
            end if;
            return query select * from unnest(personal, counts);
        exception when sqlstate 'MN000' then
            return query select * from unnest(personal, counts);
        end $body$ $f$, place, private);

    revoke all on function history_room(timestamptz), begin_profile_history(), drop_project_history() from public;
    foreach function in array array[
        'prepare_profile_history(timestamptz)', 'record_profile_change(text, int, timestamptz, text, bytea)',
        'profile_changes(text, timestamptz, int, int, boolean)', 'profile_fold(text)',
        'profiles_to_fold(timestamptz, text[], int)',
        'fold_profile_history(text, timestamptz, int, int, timestamptz, int, bytea)',
        'drop_profile_history(timestamptz)', 'history_to_leave()', 'leave_history(text, timestamptz, bytea)'] loop
        execute format('revoke all on function %s from public', function);
        execute format('grant execute on function %s to %I', function, service);
    end loop;
end $$;
