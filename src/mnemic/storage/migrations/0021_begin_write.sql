-- Adding to a scope in two round trips (docs/adr/0016-a-look-with-the-beginning.md). These functions act as their
-- caller, so that row-level security holds.

-- What stands beside each text of a batch: the row of the very same text, the nearest ones and those of its slots,
-- and which texts of the batch itself lie near to it. Each list has one entry a text: its keyed hash, since when it is
-- true (null: now), its vector, its slots with spaces, how far away a neighbour may be, how many are compared.
create function look_beside(
    _scope_key text, _private boolean, _model_id int, _macs bytea[], _sinces timestamptz[], _embeddings halfvec[],
    _slot_lists text[], _farthest float8[], _most int[])
returns table (
    item int, arm text, other int, id uuid, owner_id text, version int, content_enc bytea, valid_from timestamptz,
    cosine float8, same_slot boolean, expired boolean, asked boolean)
    language plpgsql set search_path from current set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _asked uuid[];
    _instructions uuid[];
begin
    select array_agg(item_id), array_agg(item_id) filter (where reason = 'instruction_like')
    into _asked, _instructions
    from verification where scope_key = _scope_key and answered_at is null;
    return query
    select b.item::int, 'twin', null::int, m.id, m.owner_id, null::int, null::bytea, null::timestamptz, null::float8,
        false, m.valid_to is not null and m.valid_to <= coalesce(b.since, now()), coalesce(m.id = any(_asked), false)
    from unnest(_macs, _sinces) with ordinality as b (content_mac, since, item)
    join memory_item m on m.scope_key = _scope_key and m.content_mac = b.content_mac and m.status in ('active', 'pending');
    if array_remove(_sinces, null) <> '{}' then  -- of an earlier time: what was true then counts where nothing stands
        return query
        select b.item::int, 'past', null::int, past.id, past.owner_id, null::int, null::bytea, null::timestamptz,
            null::float8, false, false, coalesce(past.id = any(_asked), false)
        from unnest(_macs, _sinces) with ordinality as b (content_mac, since, item)
        cross join lateral (
            select m.id, m.owner_id
            from memory_item m
            where m.scope_key = _scope_key and m.content_mac = b.content_mac and m.status in ('superseded', 'archived')
              and m.valid_from <= b.since and m.valid_to > b.since
            order by m.valid_from desc
            limit 1
        ) past
        where b.since is not null;
    end if;
    return query
    with batch as materialized (
        select item, since, embedding, string_to_array(nullif(slot_list, ''), ' ') as slots, farthest, most
        from unnest(_sinces, _embeddings, _slot_lists, _farthest, _most)
             with ordinality as b (since, embedding, slot_list, farthest, most, item)
    )
    select b.item::int, 'stored', null::int, n.id, n.owner_id, n.version, n.content_enc, n.valid_from, 1 - n.distance,
        n.same_slot, false, coalesce(n.id = any(_asked), false)
    from batch b
    cross join lateral (
        select m.id, m.owner_id, m.version, m.content_enc, m.valid_from, m.embedding <=> b.embedding as distance,
            coalesce(m.slots && b.slots, false) as same_slot,
            row_number() over (order by m.embedding <=> b.embedding) as place,
            row_number() over (partition by coalesce(m.slots && b.slots, false)
                               order by m.embedding <=> b.embedding) as place_in_slot
        from memory_item m
        where m.scope_key = _scope_key and m.model_id = _model_id
          and (m.visibility = 'owner_only') = _private
          and (m.embedding <=> b.embedding <= b.farthest or m.slots && b.slots)
          and (m.status = 'active'
               or (m.status = 'pending' and (_instructions is null or m.id <> all(_instructions)))
               or (b.since is not null and m.status in ('superseded', 'archived') and m.valid_to > m.valid_from))
          and (m.valid_to is null or m.valid_to > coalesce(b.since, now()))
    ) n
    where n.place <= b.most or (n.same_slot and n.place_in_slot <= b.most);
    if cardinality(_macs) > 1 then
        return query
        with batch as materialized (
            select item, embedding, string_to_array(nullif(slot_list, ''), ' ') as slots, farthest
            from unnest(_embeddings, _slot_lists, _farthest)
                 with ordinality as b (embedding, slot_list, farthest, item)
        )
        select b.item::int, 'batch', earlier.item::int, null::uuid, null, null::int, null::bytea, null::timestamptz,
            1 - (earlier.embedding <=> b.embedding), coalesce(earlier.slots && b.slots, false), false, false
        from batch b
        join batch earlier on earlier.item < b.item
        where earlier.embedding <=> b.embedding <= b.farthest or earlier.slots && b.slots;
    end if;
end $$;

-- Begins a transaction that writes to scope _written, and looks beside the texts that are to be added. For the whole
-- transaction it sets the search path and who asks, and takes the locks: shared with whoever writes, against an erase
-- of the user and a change of models; alone, against other writers to the scope. Each statement sees what was
-- committed before it: first the locks, then a look. The first row has no item: it tells what the beginning of any
-- transaction tells, and the next place in the audit's chain _chain.
create function begin_write(
    _path text, _scopes text, _sessions text, _actor text, _project text, _user_scope text, _written text, _chain int,
    _private boolean, _model_id int, _macs bytea[], _sinces timestamptz[], _embeddings halfvec[], _slot_lists text[],
    _farthest float8[], _most int[])
returns table (
    status text, key_epoch int, remember text, model_id int, deployment_model_id int, role text, project_keys text,
    seq bigint, last_mac bytea, head_mac bytea, at timestamptz,
    item int, arm text, other int, id uuid, owner_id text, version int, content_enc bytea, valid_from timestamptz,
    cosine float8, same_slot boolean, expired boolean, asked boolean)
    language plpgsql
as $$
#variable_conflict use_column
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
    if status <> 'erased' and remember is distinct from 'refused' then  -- jobs write for who sleeps, too
        return query
        select null::text, null::int, null::text, null::int, null::int, null::text, null::text, null::bigint,
               null::bytea, null::bytea, null::timestamptz, seen.*
        from look_beside(_written, _private, _model_id, _macs, _sinces, _embeddings, _slot_lists, _farthest, _most)
             as seen;
    end if;
end $$;

do $$
declare
    service name := current_setting('mnemic.service_role');
    entry regprocedure;
begin
    for entry in
        select oid from pg_proc
        where proname in ('look_beside', 'begin_write') and pronamespace = current_schema()::regnamespace
    loop
        execute format('revoke all on function %s from public', entry);
        execute format('grant execute on function %s to %I', entry, service);
    end loop;
end $$;
