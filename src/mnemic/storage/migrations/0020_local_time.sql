-- The day on which something was said is that of the clock where it was said (docs/explain/time-and-versions.md). An
-- instant forgets its zone, so the offset from UTC is kept beside it: in minutes; null for UTC, and for none told.

alter table message
    add column local_offset smallint,
    -- "not valid": the rows that are there have none, and need not be read for that
    add constraint message_local_offset check (local_offset between -1439 and 1439) not valid;
alter table memory_item
    add column local_offset smallint,
    add constraint memory_item_local_offset check (local_offset between -1439 and 1439) not valid;

-- As in 0018_append_many.sql, and a turn has its offset with it; processes that know of none send none.
create or replace function append_many(_appends json, _turns json, _unasked boolean)
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
    insert into message (scope_key, session_id, seq, role, content_enc, speaker_enc, created_at, local_offset,
                         tool_calls_enc, intent_enc, client_mac, pinned)
    select _scope_keys[n], _session_ids[n], seq, role, content_enc, speaker_enc, coalesce(created_at, now()),
           local_offset, tool_calls_enc, intent_enc, client_mac, pinned
    from json_to_recordset(_turns) as turn (
        n int, seq bigint, role text, content_enc bytea, speaker_enc bytea, created_at timestamptz,
        local_offset smallint, tool_calls_enc bytea, intent_enc bytea, client_mac bytea, pinned boolean)
    where _scope_keys[n] is not null;
    perform set_config('mnemic.scopes', '', true);
end $$;

-- The rows that a search looks at. No settings of its own: so it becomes a part of the statement that names it.
create function searched_items(
    _readable text[], _allowed text[], _memory_type text, _moment timestamptz, _known_at timestamptz)
returns table (place tid, id uuid, n_tokens int, lexemes tsvector, slots text[], model_id int, embedding halfvec)
    language sql stable parallel safe
begin atomic
    select m.ctid, m.id, m.n_tokens, m.lexemes, m.slots, m.model_id, m.embedding
    from memory_item m
    where m.scope_key = any(_readable)
      and m.status = any(_allowed)
      and (_memory_type is null or m.memory_type = _memory_type)
      and m.valid_from <= _moment
      and (m.valid_to is null or m.valid_to > _moment
           -- its end was not known yet
           or (m.status = 'superseded' and m.retired_at > _known_at))
      and (_known_at is null or m.recorded_at <= _known_at);
end;

-- As search_items in 0005_search.sql, and an item has its offset with it. That one stays for processes that are still
-- running: they have prepared their call, and a prepared call fails once the columns of its answer are others.
create function find_items(
    _scopes text, _sessions text, _actor text, _project text, _user_scope text,
    _read text, _statuses text, _memory_type text, _as_of timestamptz, _known_at timestamptz,
    _lexemes text, _words int, _slots text,
    _model_id int, _embedding halfvec, _near uuid[], _candidates int)
returns table (
    user_status text, remember text, key_epoch int, user_model int, role text, project_keys text,
    documents bigint, average_tokens float8, df bigint[],
    id uuid, scope_key text, scope text, confidence real, recorded_at timestamptz, n_tokens int, script text,
    same_slot boolean, ns int[], tfs smallint[], cosine float8,
    scope_id text, owner_id text, memory_type text, content_enc bytea, source text, source_id text,
    source_seqs bigint[], status text, reason_enc bytea, metadata_enc bytea, created_at timestamptz,
    valid_from timestamptz, valid_to timestamptz, retired_at timestamptz, superseded_by uuid, version int,
    visibility text, local_offset smallint)
    language plpgsql set search_path from current set plan_cache_mode = force_generic_plan
    set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
    _asker record;
    _moment timestamptz := coalesce(_as_of, _known_at, now());
    _readable text[] := string_to_array(_read, ',');
    _allowed text[] := string_to_array(_statuses, ',');
    _said text[] := string_to_array(_lexemes, ' ');
    _any_said tsquery := replace(_lexemes, ' ', ' | ')::tsquery;
    _filled text[] := string_to_array(_slots, ' ');
begin
    if _scopes is not null then
        _asker := greet(_scopes, _sessions, _actor, _project, _user_scope, false);
        user_status := _asker.user_status; remember := _asker.remember; key_epoch := _asker.key_epoch;
        user_model := _asker.user_model; role := _asker.role; project_keys := _asker.project_keys;
        if user_status = 'erased' or remember = 'refused' then
            return next;
            return;
        end if;
    end if;
    return query
    with seen as materialized (
        -- the one scan of the readable rows: what both arms need of each, and where it lies
        select m.place, m.id, m.n_tokens, m.slots && _filled as same_slot,
               case when m.lexemes @@ _any_said
                    then ts_filter(setweight(m.lexemes, 'A', _said), '{a}') end as said,
               case when m.model_id = _model_id and (_near is null or m.id = any(_near))
                    then m.embedding <=> _embedding end as distance
        from searched_items(_readable, _allowed, _memory_type, _moment, _known_at) m
    ), stats as materialized (
        select count(*) as documents, coalesce(avg(n_tokens), 1)::float8 as average_tokens from seen
    ), posting as materialized (
        select place, id, n_tokens, (array_position(_said, (word).lexeme) - 1) % _words + 1 as n,
               (word).positions[1] as tf
        from (select place, id, n_tokens, unnest(said) as word from seen where said is not null) as words
    ), df as materialized (
        select n, count(*) as df,
               ln(1::float8 + (s.documents - count(*) + 0.5::float8) / (count(*) + 0.5::float8)) as worth
        from posting cross join stats s
        group by n, s.documents
    ), candidates as materialized (
        (select p.place
         from posting p join df d using (n) cross join stats s
         group by p.place, p.id
         order by sum(d.worth * p.tf * 2.2::float8
                      / (p.tf + 1.2::float8 * (0.25::float8 + 0.75::float8 * p.n_tokens / s.average_tokens)))
                  desc, p.id
         limit _candidates)
        union
        (select place from seen where distance is not null order by distance, id limit _candidates)
        union
        (select place from seen where _filled is not null and same_slot order by distance, id limit _candidates)
    ), words as (
        -- of all candidates, also of those that another arm named
        select place, array_agg(n) as ns, array_agg(tf) as tfs
        from posting
        where place in (select place from candidates)
        group by place
    )
    select user_status, remember, key_epoch, user_model, role, project_keys,
           case when c.place is null then s.documents end,
           case when c.place is null then s.average_tokens end,
           case when c.place is null then array(
               select coalesce(d.df, 0)
               from generate_series(1, _words) as g (n) left join df d using (n)
               order by g.n) end,
           m.id, m.scope_key, m.scope, m.confidence, m.recorded_at, m.n_tokens, m.script,
           m.slots && _filled, w.ns, w.tfs,
           case when m.model_id = _model_id then 1 - (m.embedding <=> _embedding) end,
           m.scope_id, m.owner_id, m.memory_type, m.content_enc, m.source, m.source_id, m.source_seqs, m.status,
           m.reason_enc, m.metadata_enc, m.created_at, m.valid_from, m.valid_to, m.retired_at, m.superseded_by,
           m.version, m.visibility, m.local_offset
    from (select null::tid as place union all select place from candidates) as c
    left join words w using (place)
    left join memory_item m on m.ctid = c.place and m.scope_key = any(_readable)
    cross join stats s
    order by c.place nulls first;
end $$;

do $$
declare
    service name := current_setting('mnemic.service_role');
    entry regprocedure;
begin
    execute format('grant update (local_offset) on memory_item to %I', service);
    for entry in
        select oid from pg_proc
        where proname in ('searched_items', 'find_items') and pronamespace = current_schema()::regnamespace
    loop
        execute format('revoke all on function %s from public', entry);
        execute format('grant execute on function %s to %I', entry, service);
    end loop;
end $$;
