-- Adding one text, told now: the usual case of begin_write in 0021, in fewer statements on the way there, in the
-- database and back. It acts as its caller, so that row-level security holds.

-- Begins a transaction that writes to scope _written, as begin_write does, and looks beside one text that is true from
-- now on: its keyed hash, its vector, its slots with spaces, how far away a neighbour may be, how many are compared.
-- One scan of the scope finds the row of the very same text, and the nearest of those that are near or of its slots.
-- The first row has no item, as there.
create function begin_add(
    _path text, _scopes text, _sessions text, _actor text, _project text, _user_scope text, _written text, _chain int,
    _private boolean, _model_id int, _mac bytea, _embedding halfvec, _slots text, _farthest float8, _most int)
returns table (
    status text, key_epoch int, remember text, model_id int, deployment_model_id int, role text, project_keys text,
    seq bigint, last_mac bytea, head_mac bytea, at timestamptz,
    item int, arm text, id uuid, owner_id text, version int, content_enc bytea, valid_from timestamptz,
    cosine float8, same_slot boolean, expired boolean, asked boolean)
    language plpgsql
as $$
#variable_conflict use_column
declare
    _filled text[] := string_to_array(nullif(_slots, ''), ' ');
    _place int := 0;
    _place_in_slot int := 0;
    _pending boolean;
    _instruction boolean;
begin
    perform set_config('search_path', _path, true), set_config('plan_cache_mode', 'force_generic_plan', true),
            set_config('mnemic.scopes', _scopes, true), set_config('mnemic.sessions', _sessions, true),
            set_config('mnemic.actor', _actor, true), set_config('mnemic.project', _project, true),
            pg_advisory_xact_lock_shared(hashtextextended(_user_scope, 7)),
            pg_advisory_xact_lock_shared(hashtextextended('embedding', 0)),
            pg_advisory_xact_lock_shared(hashtextextended(
                'embedding user:' || split_part(split_part(_written, ':', 2), '/', 1), 0)),
            pg_advisory_xact_lock(hashtextextended(_written, 0));
    select u.status, u.key_epoch, u.remember, coalesce(u.model_id, d.model_id), d.model_id, a.seq, a.last_mac,
           a.head_mac
    into status, key_epoch, remember, model_id, deployment_model_id, seq, last_mac, head_mac
    from deployment d
    left join app_user u on u.scope_key = _user_scope
    left join audit_chain a on a.chain = _chain;
    if _project <> '' then
        role := my_role();
        select count(*) || ':' || max(k.key_id::text) into project_keys from data_key k where k.scope_key = _project;
    end if;
    at := date_trunc('milliseconds', clock_timestamp());
    return next;
    if status is null or status = 'erased' or remember = 'refused' then
        return;
    end if;
    item := 1;
    for arm, id, owner_id, version, content_enc, valid_from, cosine, same_slot, expired, _pending in
        select case when m.content_mac = _mac then 'twin' else 'stored' end, m.id, m.owner_id, m.version, m.content_enc,
               m.valid_from,
               -- the very same text may still have a vector of another model, and of another length
               case when m.model_id = _model_id then 1 - (m.embedding <=> _embedding) end as likeness,
               coalesce(m.slots && _filled, false), m.valid_to is not null and m.valid_to <= now(), m.status = 'pending'
        from memory_item m
        where m.scope_key = _written and m.status in ('active', 'pending')
          and (m.content_mac = _mac
               or (m.model_id = _model_id and (m.visibility = 'owner_only') = _private
                   and (m.valid_to is null or m.valid_to > now())
                   and (m.embedding <=> _embedding <= _farthest or m.slots && _filled)))
        order by m.content_mac = _mac desc, likeness desc
    loop
        select count(*) > 0, coalesce(bool_or(v.reason = 'instruction_like'), false)
        into asked, _instruction
        from verification v
        where v.scope_key = _written and v.item_id = id and v.answered_at is null;
        if arm = 'stored' then
            continue when _pending and _instruction;
            _place := _place + 1;
            _place_in_slot := _place_in_slot + same_slot::int;
            continue when _place > _most and not (same_slot and _place_in_slot <= _most);
        end if;
        return next;
        exit when _place >= _most and (_filled is null or _place_in_slot >= _most);
    end loop;
end $$;

do $$
declare
    service name := current_setting('mnemic.service_role');
    entry regprocedure;
begin
    for entry in
        select oid from pg_proc where proname = 'begin_add' and pronamespace = current_schema()::regnamespace
    loop
        execute format('revoke all on function %s from public', entry);
        execute format('grant execute on function %s to %I', entry, service);
    end loop;
end $$;
