-- Appends that wait at the same moment, of whichever users, are logged together. The function acts as its
-- caller, so that row-level security holds; who asks is set for each append, and nobody when it is done.

-- Takes each append of _appends as append_turns does: behind number "last" of its session, up to "newest", if
-- "last" is still the session's newest number, the session is open, and its user agrees and has the key of epoch
-- "epoch"; "appended" tells, in the row whose place is the append's number "n". _unasked: users who were not
-- asked yet may be remembered. _turns are the rows of all of them: what is sealed in hexadecimal, and null where
-- there is nothing. A turn gets in only where its append did, which the session's row has let pass under that
-- user's own policies. Sessions are taken in one order, so that two batches never wait for each other, and a
-- batch waits for others only shortly: one that is long at work must not hold up everybody else.
create function append_many(_appends json, _turns json, _unasked boolean)
returns table (place int, user_status text, remember text, key_epoch int, appended boolean, at timestamptz)
    language plpgsql set search_path from current set plan_cache_mode = force_generic_plan
    set lock_timeout = '100ms'
as $$
#variable_conflict use_column
declare
    _one record;
    _scope_keys text[];
    _session_ids text[];
begin
    at := now();
    for _one in
        select *
        from json_to_recordset(_appends) as one (
            n int, asker_scopes text, asker_sessions text, asker text, asker_project text, asker_user text,
            scope_key text, session_id text, last bigint, newest bigint, epoch int)
        order by scope_key collate "C", session_id collate "C"
    loop
        perform set_config('mnemic.scopes', _one.asker_scopes, true),
                set_config('mnemic.sessions', _one.asker_sessions, true),
                set_config('mnemic.actor', _one.asker, true), set_config('mnemic.project', _one.asker_project, true),
                pg_advisory_xact_lock_shared(hashtextextended(_one.asker_user, 7));
        -- a statement of its own sees what was committed before it: first the lock, then a look
        select u.status, u.remember, u.key_epoch into user_status, remember, key_epoch
        from app_user u where u.scope_key = _one.asker_user;
        place := _one.n;
        appended := coalesce(user_status = 'active' and key_epoch = _one.epoch
                             and (remember = 'granted' or (remember is null and _unasked)), false);
        if appended then
            update session s set last_seq = _one.newest, last_active_at = now()
            where s.scope_key = _one.scope_key and s.session_id = _one.session_id
              and s.closed_at is null and s.last_seq = _one.last;
            appended := found;
        end if;
        if appended then
            _scope_keys[_one.n] := _one.scope_key;
            _session_ids[_one.n] := _one.session_id;
        end if;
        return next;
    end loop;
    perform set_config('mnemic.scopes', coalesce(array_to_string(_scope_keys, ','), ''), true),
            set_config('mnemic.sessions', '', true), set_config('mnemic.actor', '', true),
            set_config('mnemic.project', '', true);
    insert into message (scope_key, session_id, seq, role, content_enc, speaker_enc, created_at, tool_calls_enc,
                         intent_enc, client_mac, pinned)
    select _scope_keys[n], _session_ids[n], seq, role, content_enc, speaker_enc, coalesce(created_at, now()),
           tool_calls_enc, intent_enc, client_mac, pinned
    from json_to_recordset(_turns) as turn (
        n int, seq bigint, role text, content_enc bytea, speaker_enc bytea, created_at timestamptz,
        tool_calls_enc bytea, intent_enc bytea, client_mac bytea, pinned boolean)
    where _scope_keys[n] is not null;
    perform set_config('mnemic.scopes', '', true);
end $$;

do $$
declare
    service name := current_setting('mnemic.service_role');
    entry regprocedure;
begin
    select oid into strict entry from pg_proc
    where proname = 'append_many' and pronamespace = current_schema()::regnamespace;
    execute format('revoke all on function %s from public', entry);
    execute format('grant execute on function %s to %I', entry, service);
end $$;
