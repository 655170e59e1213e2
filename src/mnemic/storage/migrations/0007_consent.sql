-- What a user agreed to, and the erasure of one user.

-- A process may still hold the key of a user who was erased: whoever comes under that id again has another epoch.
alter table app_user alter column key_epoch set default 1 + floor(random() * 1000000000)::int;

-- What was said when; app_user.remember is what a transaction reads of it.
create table consent_log (
    scope_key   text not null,
    id          uuid not null,
    purpose     text not null check (purpose in ('remember', 'insight')),
    state       text not null check (state in ('granted', 'refused')),
    via         text not null check (via in ('app', 'web', 'api', 'cli', 'job')),
    recorded_at timestamptz not null default clock_timestamp(),
    primary key (scope_key, id)
);

do $$
declare
    service name := current_setting('mnemic.service_role');
    place name := current_schema();
    own text := '(scope_key = any ((select string_to_array(current_setting(''mnemic.scopes'', true), '',''))::text[])'
                ' or starts_with(scope_key, (select nullif(current_setting(''mnemic.sessions'', true), ''''))))';
    function text;
begin
    alter table consent_log enable row level security;
    alter table consent_log force row level security;
    execute format('create policy maintenance on consent_log to %I using (true) with check (true)', current_user);
    execute format('create policy own_scopes on consent_log to %I using %s with check %s', service, own, own);
    execute format('grant select, insert on consent_log to %I', service);

    -- The scope of the user who asks to be erased, from what the transaction says about itself.
    execute format($f$
        create function scope_to_erase(out who text, out own text, out sessions text)
            language plpgsql stable security definer set search_path = %I, pg_temp
        as $body$
        begin
            who := nullif(current_setting('mnemic.actor', true), '');
            sessions := nullif(current_setting('mnemic.sessions', true), '');
            own := 'user:' || substr(sessions, 9, length(sessions) - 9);
            if who is null or sessions is null
               or not own = any (string_to_array(current_setting('mnemic.scopes', true), ',')) then
                raise insufficient_privilege using message = 'only a user erases that user';
            end if;
        end $body$ $f$, place);

    -- Projects that a user belongs to or wrote in, with what becomes of them: an only owner is followed by
    -- the member who has been there longest in the highest role; without members the project goes.
    execute format($f$
        create function projects_to_leave() returns table (scope_key text, heir text, ends boolean)
            language sql stable security definer set search_path = %I, pg_temp
        as $body$
            with me as (select e.who from scope_to_erase() e), mine as (
                select m.scope_key from project_member m, me where m.user_id = me.who
                union select k.scope_key from data_key k, me where k.author_id = me.who
                union select p.scope_key from project p, me where p.created_by = me.who
            ), only_owner as (
                select m.scope_key from project_member m, me
                where m.user_id = me.who and m.role = 'owner'
                  and not exists (select from project_member o
                                  where o.scope_key = m.scope_key and o.role = 'owner' and o.user_id <> me.who)
            )
            select t.scope_key, h.user_id, o.scope_key is not null and h.user_id is null
            from mine t
            left join only_owner o using (scope_key)
            left join lateral (
                select m.user_id from project_member m, me
                where m.scope_key = o.scope_key and m.user_id <> me.who
                order by case m.role when 'admin' then 1 when 'editor' then 2 else 3 end, m.since, m.user_id
                limit 1
            ) h on true
            order by t.scope_key
        $body$ $f$, place);

    -- Waits for everybody who is writing for this user or in these projects, and lets nobody begin.
    execute format($f$
        create function hold_for_erasure() returns void
            language plpgsql security definer set search_path = %I, pg_temp
        as $body$
        declare
            project_scope text;
        begin
            perform pg_advisory_xact_lock(hashtextextended(own, 7)) from scope_to_erase();
            perform pg_advisory_xact_lock_shared(hashtextextended('embedding', 0));
            for project_scope in select l.scope_key from projects_to_leave() l loop
                perform from project p where p.scope_key = project_scope for update;
                perform pg_advisory_xact_lock(hashtextextended(project_scope, 0));
            end loop;
        end $body$ $f$, place);

    -- Keys of the projects that stay: what the user sealed there of others is sealed anew.
    execute format($f$
        create function keys_to_leave()
            returns table (scope_key text, author_id text, key_id uuid, wrapped bytea, kek_id text)
            language sql stable security definer set search_path = %I, pg_temp
        as $body$
            select k.scope_key, k.author_id, k.key_id, k.wrapped, k.kek_id
            from data_key k
            join projects_to_leave() l using (scope_key)
            cross join scope_to_erase() e
            where not l.ends and (k.author_id = e.who or k.author_id = '' and k.retired_at is null)
        $body$ $f$, place);
    execute format($f$
        create function values_to_leave(most int)
            returns table (table_name text, scope_key text, id uuid, version int, column_name text, value bytea)
            language sql stable security definer set search_path = %I, pg_temp
        as $body$
            with sealing as (
                select k.scope_key, uuid_send(k.key_id) as key_id, e.who
                from keys_to_leave() k cross join scope_to_erase() e where k.author_id = e.who
            )
            select 'project', p.scope_key, null::uuid, p.version, 'name', p.name_enc
            from project p join sealing s on s.scope_key = p.scope_key and substr(p.name_enc, 1, 16) = s.key_id
            union all
            select 'memory_item', m.scope_key, m.id, m.version, v.name, v.value
            from memory_item m
            join sealing s on s.scope_key = m.scope_key and m.owner_id <> s.who
            cross join lateral (values ('content', m.content_enc), ('reason', m.reason_enc),
                                       ('metadata', m.metadata_enc)) as v (name, value)
            where substr(v.value, 1, 16) = s.key_id
            union all
            select 'verification', v.scope_key, v.item_id, 1, 'question', v.question_enc
            from verification v
            join memory_item m on m.scope_key = v.scope_key and m.id = v.item_id
            join sealing s on s.scope_key = v.scope_key and m.owner_id <> s.who
            where substr(v.question_enc, 1, 16) = s.key_id
            limit most
        $body$ $f$, place);

    -- Puts a value in the place of one that this user's key sealed, and only of such a one.
    execute format($f$
        create function leave_value(of_table text, of_scope text, of_id uuid, of_column text, fresh bytea) returns void
            language plpgsql security definer set search_path = %I, pg_temp
        as $body$
        declare
            theirs bytea[] := array(select uuid_send(k.key_id) from keys_to_leave() k, scope_to_erase() e
                                    where k.scope_key = of_scope and k.author_id = e.who);
        begin
            if not exists (select from keys_to_leave() k where k.scope_key = of_scope and k.author_id = ''
                           and uuid_send(k.key_id) = substr(fresh, 1, 16)) then
                raise insufficient_privilege using message = 'what is left is sealed by its project';
            end if;
            case of_table || '.' || of_column
                when 'project.name' then
                    update project p set name_enc = fresh
                    where p.scope_key = of_scope and substr(p.name_enc, 1, 16) = any (theirs);
                when 'memory_item.content' then
                    update memory_item m set content_enc = fresh
                    where m.scope_key = of_scope and m.id = of_id and substr(m.content_enc, 1, 16) = any (theirs);
                when 'memory_item.reason' then
                    update memory_item m set reason_enc = fresh
                    where m.scope_key = of_scope and m.id = of_id and substr(m.reason_enc, 1, 16) = any (theirs);
                when 'memory_item.metadata' then
                    update memory_item m set metadata_enc = fresh
                    where m.scope_key = of_scope and m.id = of_id and substr(m.metadata_enc, 1, 16) = any (theirs);
                when 'verification.question' then
                    update verification v set question_enc = fresh
                    where v.scope_key = of_scope and v.item_id = of_id
                      and substr(v.question_enc, 1, 16) = any (theirs);
            end case;
        end $body$ $f$, place);

    -- Takes every row of the user from every table, and counts. Without "really" all of it is undone.
    execute format($f$
        create function erase_user(really boolean) returns table (table_name text, n_rows bigint)
            language plpgsql security definer set search_path = %I, pg_temp
        as $body$
        declare
            -- rows that hang on others come first, so that every row is counted and none goes by cascade
            personal text[] := array[
                'checkpoint_archive', 'session_state_snapshot', 'checkpoint_writes', 'checkpoint_blobs', 'checkpoints',
                'thread', 'task_events', 'task_state', 'store_item', 'item_usage', 'verification', 'reembedding', 'memory_item', 'chunk',
                'chunk_draft', 'resource', 'extraction_log', 'message', 'session_state', 'session', 'embedding_settings',
                'consent_log', 'idempotency_key', 'api_key', 'data_key', 'user_profile', 'key_decision',
                'project_profile', 'project_member', 'project', 'app_user', 'outbox'];
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
        end $body$ $f$, place);

    foreach function in array array[
        'projects_to_leave()', 'hold_for_erasure()', 'keys_to_leave()', 'values_to_leave(int)',
        'leave_value(text, text, uuid, text, bytea)', 'erase_user(boolean)', 'scope_to_erase()'] loop
        execute format('revoke all on function %s from public', function);
        execute format('grant execute on function %s to %I', function, service);
    end loop;
end $$;
