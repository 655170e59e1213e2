-- Rotation of the key of keys, and the end of key epochs.

-- Every key of keys that wrapped something here: when it came into use, when another took its place, since when
-- nothing is wrapped with it any more, and when it was destroyed. Which one is in use says deployment.kek_id.
create table kek (
    kek_id       text primary key,
    opened_at    timestamptz not null default clock_timestamp(),
    replaced_at  timestamptz,
    emptied_at   timestamptz,
    destroyed_at timestamptz
);
insert into kek (kek_id, opened_at)
select kek_id, created_at from deployment where kek_id is not null;

-- What each closing of an epoch made final in every copy: the erasures before final_until. Counts and times only.
create table key_closing (
    closed_at        timestamptz primary key default clock_timestamp(),
    final_until      timestamptz not null,
    n_destroyed      int not null check (n_destroyed >= 0),
    n_erasures       bigint not null check (n_erasures >= 0),
    first_erasure_at timestamptz,
    last_erasure_at  timestamptz
);

-- Found without reading the whole log: what is not final yet, and since when.
create index audit_log_forgotten on audit_log (at) where action in ('erase_user', 'end_project', 'delete_project');
