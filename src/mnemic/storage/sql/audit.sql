-- Who did what: chains of keyed hashes. A chain's row is locked last in a transaction, for a moment only.

-- name: begun
select audit_mac as marker
from deployment

-- name: begin
select begin_audit(%(marker)s, %(last_macs)s::bytea[], %(head_macs)s::bytea[]) as marker

-- name: hold_chain
select seq, last_mac, head_mac, date_trunc('milliseconds', clock_timestamp()) as at
from audit_chain
where chain = %(chain)s
for no key update

-- name: append
-- The chain's row comes first. Where another entry took this place meanwhile, there is no chain to write to.
with moved as (
    update audit_chain
    set seq = %(seq)s, last_mac = %(entry_mac)s, head_mac = %(head_mac)s
    where chain = %(chain)s and seq = %(seq)s - 1
    returning chain
)
insert into audit_log (chain, seq, at, action, why, user_mac, credential_mac, target_mac, before_mac, after_mac,
    entry_mac)
values ((select chain from moved), %(seq)s, %(at)s, %(action)s, %(why)s, %(user_mac)s, %(credential_mac)s,
    %(target_mac)s, %(before_mac)s, %(after_mac)s, %(entry_mac)s)

-- name: mine
select chain, seq, at, action, why, user_mac, credential_mac, target_mac, before_mac, after_mac
from entries_of(%(chain)s, %(user_mac)s, %(before)s, %(limit)s)

-- name: last_erasure
select last_erasure(%(user_mac)s) as at

-- name: chains
-- the operator's, as all that follow
select chain, seq, last_mac, head_mac
from audit_chain
order by chain

-- name: entries
select chain, seq, at, action, why, user_mac, credential_mac, target_mac, before_mac, after_mac, entry_mac
from audit_log
order by chain, seq

-- name: newest
select chain, seq, at, action, why, user_mac, credential_mac, target_mac, before_mac, after_mac
from audit_log
where (%(user_mac)s::bytea is null or user_mac = %(user_mac)s)
  and (%(target_mac)s::bytea is null or target_mac = %(target_mac)s)
  and (%(action)s::text is null or action = %(action)s)
  and (%(before_at)s::timestamptz is null
       or (at, chain, seq) < (%(before_at)s::timestamptz, %(before_chain)s::int, %(before_seq)s::bigint))
order by at desc, chain desc, seq desc
limit %(limit)s

-- name: head
select seqs
from audit_head
where head_mac = %(head_mac)s

-- name: keep_head
insert into audit_head (head_mac, seqs)
values (%(head_mac)s, %(seqs)s)
on conflict (head_mac) do nothing
