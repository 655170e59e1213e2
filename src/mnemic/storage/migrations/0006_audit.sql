-- Who did what, when and why: chains of keyed hashes that nobody changes unnoticed.

-- Chains of entries, each entry hashed with the one before it under a key that is not here. The users spread
-- over the chains, so that writers of different users seldom wait for each other. A chain's head is hashed
-- apart: from the entries alone nobody makes the head of a shorter chain.
create table audit_chain (
    chain    smallint primary key check (chain between 0 and 255),
    seq      bigint not null check (seq >= 0),
    last_mac bytea not null,
    head_mac bytea not null
) with (fillfactor = 50);

create table audit_log (
    chain          smallint not null check (chain between 0 and 255),
    seq            bigint not null check (seq > 0),
    at             timestamptz not null,
    action         text not null check (action ~ '^[a-z][a-z_]{0,39}$'),
    why            text not null check (why in ('app', 'web', 'api', 'cli', 'job')),
    user_mac       bytea not null,
    credential_mac bytea,
    target_mac     bytea,
    before_mac     bytea,
    after_mac      bytea,
    entry_mac      bytea not null,
    primary key (chain, seq)
);
create index audit_log_erasure on audit_log (user_mac) where action = 'erase_user';

-- How far each chain had come when a head was printed for keeping elsewhere.
create table audit_head (
    head_mac bytea primary key,
    seqs     bigint[] not null,
    made_at  timestamptz not null default now()
);
alter table deployment add column audit_mac bytea;

do $$
declare
    service name := current_setting('mnemic.service_role');
    place name := current_schema();
    function text;
begin
    execute format('grant insert on audit_log to %I', service);
    execute format('grant select, update (seq, last_mac, head_mac) on audit_chain to %I', service);

    -- Makes all chains at once, and never again. Functions run as the owner; temporary tables come last for
    -- them, since the service may make such tables.
    execute format($f$
        create function begin_audit(marker bytea, last_macs bytea[], head_macs bytea[]) returns bytea
            language plpgsql security definer set search_path = %I, pg_temp
        as $body$
        begin
            perform pg_advisory_xact_lock(hashtextextended('audit chains', 0));
            if not exists (select from deployment where audit_mac is not null)
               and not exists (select from audit_chain) and not exists (select from audit_log) then
                insert into audit_chain (chain, seq, last_mac, head_mac)
                select n - 1, 0, l, h from unnest(last_macs, head_macs) with ordinality as made (l, h, n);
                update deployment set audit_mac = marker;
            end if;
            return (select audit_mac from deployment);
        end $body$ $f$, place);

    -- A user's entries since the last erasure. Only who has the audit key can name a user's hash.
    execute format($f$
        create function entries_of(of_chain int, of_user bytea, before bigint, most int)
            returns table (chain smallint, seq bigint, at timestamptz, action text, why text, user_mac bytea,
                           credential_mac bytea, target_mac bytea, before_mac bytea, after_mac bytea)
            language sql stable security definer set search_path = %I, pg_temp
        as $body$
            select l.chain, l.seq, l.at, l.action, l.why, l.user_mac, l.credential_mac, l.target_mac,
                l.before_mac, l.after_mac
            from audit_log l
            where l.chain = of_chain and l.user_mac = of_user and (before is null or l.seq < before)
              and l.seq >= coalesce((select max(e.seq) from audit_log e
                                     where e.chain = of_chain and e.user_mac = of_user
                                       and e.action = 'erase_user'), 0)
            order by l.seq desc
            limit most
        $body$ $f$, place);
    execute format($f$
        create function last_erasure(of_user bytea) returns timestamptz
            language sql stable security definer set search_path = %I, pg_temp
        as $body$
            select max(at) from audit_log where user_mac = of_user and action = 'erase_user'
        $body$ $f$, place);

    foreach function in array array[
        'begin_audit(bytea, bytea[], bytea[])', 'entries_of(int, bytea, bigint, int)', 'last_erasure(bytea)'] loop
        execute format('revoke all on function %s from public', function);
        execute format('grant execute on function %s to %I', function, service);
    end loop;
end $$;
