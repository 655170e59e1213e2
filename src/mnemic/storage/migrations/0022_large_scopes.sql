-- Search in scopes of thousands of items: what find_items finds, found so that of the scanned rows only those
-- that may become candidates leave the scan, whose processes count and collect as they go. These functions act
-- as their caller, so that row-level security holds.

-- The rows counted, with the sum of their lengths, and what may become a candidate as lines, whose fields '#'
-- parts. "said": a row that says a word of the query: what it says of it and its length, id, place. "near": a row
-- not farther than _bound, or of the same slot: distance, id, place, whether of the same slot, and as above what
-- it says, if anything. A line travels from process to process cheaper than a row, and most are never taken apart.
-- Stable, so that it sees what the statement that names it sees: else a row that is changed meanwhile would be found at
-- a place where that statement has none.
create function sift_items(
    _readable text[], _allowed text[], _memory_type text, _moment timestamptz, _known_at timestamptz,
    _said text[], _filled text[], _model_id int, _embedding halfvec, _near uuid[], _bound float8)
returns table (documents bigint, tokens bigint, said text, near text)
    language plpgsql stable rows 1 set search_path from current set plan_cache_mode = force_custom_plan
    set max_parallel_workers_per_gather = 1 set parallel_setup_cost = 0 set parallel_tuple_cost = 0
    set extra_float_digits = 1
as $$
#variable_conflict use_column
declare
    _any_said tsquery := array_to_string(_said, ' | ')::tsquery;
begin
    return query
    select count(*), sum(m.n_tokens),
           string_agg(ts_filter(setweight(m.lexemes, 'A', _said), '{a}')::text || '|' || m.n_tokens
                      || '#' || m.id || '#' || m.place::text, E'\n')
               filter (where m.lexemes @@ _any_said),
           string_agg(case when m.model_id = _model_id and (_near is null or m.id = any(_near))
                           then (m.embedding <=> _embedding)::text else '' end
                      || '#' || m.id || '#' || m.place::text || '#' || coalesce(m.slots && _filled, false)
                      || '#' || case when m.lexemes @@ _any_said
                                     then ts_filter(setweight(m.lexemes, 'A', _said), '{a}')::text
                                          || '|' || m.n_tokens else '' end, E'\n')
               filter (where m.slots && _filled
                          or case when m.model_id = _model_id and (_near is null or m.id = any(_near))
                                  then m.embedding <=> _embedding <= _bound end)
    from searched_items(_readable, _allowed, _memory_type, _moment, _known_at) m;
end $$;

-- A distance that at least _candidates of about _expected rows should keep to, and not very many: as far as the
-- nearest few of some that lie evenly spread over the scope; beyond all (NaN) where only few can be compared. Of
-- several scopes the largest counts, or the farthest where some are as large: their share of the sample tells.
create function likely_bound(
    _readable text[], _allowed text[], _memory_type text, _moment timestamptz,
    _model_id int, _embedding halfvec, _candidates int, _expected int)
returns float8
    language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan
    set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
    _probes constant int := 32;
    _rows_each constant int := 8;
begin
    return (
        with ends as (
            select scope_key,
                   (select m.id from memory_item m where m.scope_key = r.scope_key order by m.id limit 1) as first,
                   (select m.id from memory_item m where m.scope_key = r.scope_key order by m.id desc limit 1) as last
            from unnest(_readable) as r (scope_key)
        ), span as (
            -- an id begins with 48 bits of time
            select scope_key, ('x' || left(replace(first::text, '-', ''), 12))::bit(48)::bigint as first,
                   ('x' || left(replace(last::text, '-', ''), 12))::bit(48)::bigint as last
            from ends where first is not null
        ), probe as (
            select scope_key,
                   rpad(lpad(to_hex(first + (last - first) * n / _probes), 12, '0'), 32, '0')::uuid as id
            from span cross join generate_series(0, _probes - 1) as n
        ), sample as (
            select distinct on (p.scope_key, m.id) p.scope_key,
                   case when m.model_id = _model_id and m.status = any(_allowed)
                             and (_memory_type is null or m.memory_type = _memory_type)
                             and m.valid_from <= _moment and coalesce(m.valid_to > _moment, true)
                        then m.embedding <=> _embedding end as distance
            from probe p cross join lateral (
                select * from memory_item m
                where m.scope_key = p.scope_key and m.id >= p.id
                order by m.id limit _rows_each) as m
        ), of_scope as (
            select count(*) as rows, count(*) * _candidates::float8 / greatest(_expected, 1) as mean,
                   array_agg(distance order by distance) filter (where distance is not null) as distances
            from sample group by scope_key
        )
        select max(coalesce(distances[ceil(mean + 3 * sqrt(mean) + 3)::int], 'NaN'))
        from of_scope where 4 * rows >= (select 3 * max(rows) from of_scope)
    );
end $$;

-- As find_items, whose columns it has.
-- _expected: how many items the scopes are thought to hold; what is found does not depend on it.
create function search_large(
    _scopes text, _sessions text, _actor text, _project text, _user_scope text,
    _read text, _statuses text, _memory_type text, _as_of timestamptz, _known_at timestamptz,
    _lexemes text, _words int, _slots text,
    _model_id int, _embedding halfvec, _near uuid[], _candidates int, _expected int)
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
    _bound float8 := 'NaN';  -- which is beyond all
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
    if _embedding is not null and _near is null then
        _bound := coalesce(likely_bound(_readable, _allowed, _memory_type, _moment, _model_id, _embedding,
                                        _candidates, _expected), _bound);
    end if;
    return query
    with sifted as materialized (
        select * from sift_items(_readable, _allowed, _memory_type, _moment, _known_at, _said, _filled,
                                 _model_id, _embedding, _near, _bound)
    ), stats as materialized (
        select documents, coalesce(tokens::numeric / nullif(documents, 0), 1)::float8 as average_tokens
        from sifted
    ), hit as materialized (
        select split_part(line, '#', 1) as saying, line from sifted cross join string_to_table(said, E'\n') as line
    ), saying as materialized (
        -- what rows have in common that say the same and are of one length: their score
        select saying, split_part(saying, '|', 1)::tsvector as said, split_part(saying, '|', 2)::int as n_tokens,
               count(*) as items
        from hit group by saying
    ), posting as materialized (
        select saying, n_tokens, items, at, (array_position(_said, lexeme) - 1) % _words + 1 as n,
               positions[1] as tf
        from saying cross join unnest(said) with ordinality as word (lexeme, positions, weights, at)
    ), df as materialized (
        select n, sum(items)::bigint as df,
               ln(1::float8 + (s.documents - sum(items)::bigint + 0.5::float8)
                              / (sum(items)::bigint + 0.5::float8)) as worth
        from posting cross join stats s
        group by n, s.documents
    ), scored as materialized (
        select saying, p.items, array_agg(n order by at) as ns, array_agg(tf order by at) as tfs,
               sum(d.worth * p.tf * 2.2::float8
                   / (p.tf + 1.2::float8 * (0.25::float8 + 0.75::float8 * p.n_tokens / s.average_tokens))
                   order by at) as score
        from posting p join df d using (n) cross join stats s
        group by saying, p.items
    ), reached as (
        select saying, score,
               sum(items) over (order by score desc
                                groups between unbounded preceding and 1 preceding) as before
        from scored
    ), near as materialized (
        select nullif(split_part(line, '#', 1), '')::float8 as distance, split_part(line, '#', 2) as id,
               split_part(line, '#', 3) as place, split_part(line, '#', 4)::boolean as same_slot,
               split_part(line, '#', 5) as saying
        from sifted cross join string_to_table(near, E'\n') as line
    ), within as materialized (
        select _bound = 'NaN' or (select count(*) from near where distance <= _bound)
                                 >= least(_candidates, documents) as enough
        from stats
    ), compared as (
        -- the bound was too narrow, so it takes all
        select place::text, case when lexemes @@ _any_said
                                 then ts_filter(setweight(lexemes, 'A', _said), '{a}')::text || '|' || n_tokens
                                 else '' end as saying
        from (select m.place, m.lexemes, m.n_tokens
              from searched_items(_readable, _allowed, _memory_type, _moment, _known_at) m
              where not (select enough from within) and m.model_id = _model_id
              order by m.embedding <=> _embedding, m.id limit _candidates) as m
    ), candidates as materialized (
        (select split_part(h.line, '#', 3) as place, saying
         from reached r join hit h using (saying)
         where coalesce(r.before, 0) < _candidates
         order by r.score desc, split_part(h.line, '#', 2) collate "C" limit _candidates)
        union
        (select place, saying from near
         where distance <= _bound and (select enough from within)
         order by distance, id collate "C" limit _candidates)
        union
        (select place, saying from compared)
        union
        (select place, saying from near where same_slot order by distance, id collate "C" limit _candidates)
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
    from (select null::tid as place, null as saying union all select place::tid, saying from candidates) as c
    left join scored w using (saying)
    left join lateral (
        -- each by itself: whatever the statistics say, the scope is not read again
        select * from memory_item i where i.ctid = c.place and i.scope_key = any(_readable) offset 0
    ) as m on true
    cross join stats s
    order by c.place nulls first;
end $$;

do $$
declare
    service name := current_setting('mnemic.service_role');
    entry regprocedure;
begin
    for entry in
        select oid from pg_proc
        where proname in ('sift_items', 'likely_bound', 'search_large')
          and pronamespace = current_schema()::regnamespace
    loop
        execute format('revoke all on function %s from public', entry);
        execute format('grant execute on function %s to %I', entry, service);
    end loop;
end $$;
