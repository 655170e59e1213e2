-- Profiles. Every statement names its scope; {schema}: what stands alone has no search path.

-- name: read
select * from {schema}.profile_of(%(asker_user)s, %(with_key)s)

-- name: read_both
select * from {schema}.profiles_of(
    %(asker)s, %(asker_project)s, %(asker_user)s, %(with_key)s)

-- name: waiting
select scope_key, user_id, project_id
from profiles_waiting(%(except_scopes)s::text[], %(most)s::int)

-- name: hold
-- One maker of a profile at a time. The statements that follow see what the one before has committed.
select pg_advisory_xact_lock(hashtextextended('profile ' || %(scope_key)s, 0))

-- name: try_hold
select pg_try_advisory_xact_lock(hashtextextended('profile ' || %(scope_key)s, 0)) as held

-- name: clock
select now() as now

-- name: take
delete from outbox
where scope_key = %(scope_key)s

-- name: items
-- What a profile is made of: what is true now, the newest of each type, and what fills one of the attributes.
-- Of a project only what all its members see.
with standing as (
    select id, row_number() over (partition by memory_type order by valid_from desc, id desc) as place, slots
    from memory_item
    where scope_key = %(scope_key)s and status = 'active' and visibility <> 'owner_only'
      and (valid_to is null or valid_to > now())
)
select m.scope_key, m.id, m.memory_type, m.content_enc, m.version, m.source, m.valid_from, m.valid_to, m.slots
from memory_item m
join standing s using (id)
where m.scope_key = %(scope_key)s and (s.place <= %(most)s or s.slots && %(slots)s::text[])

-- name: begin_user
insert into user_profile (scope_key, user_id)
values (%(scope_key)s, %(user_id)s)
on conflict (scope_key) do nothing

-- name: user
select username_enc, background_enc, profession_enc, communication_style_enc, response_format_enc,
    language_preference_enc, characteristics_enc, content_enc, expertise_areas_enc, programming_languages_enc,
    frequently_used_tools_enc, email_enc, phone_enc, preferences_enc, version, is_deleted, stale_at, asleep_at,
    created_at, updated_at
from user_profile
where scope_key = %(scope_key)s

-- name: put_user
-- Its time is that of its change in the history: later than the one before, whoever waited for the lock.
update user_profile
set username_enc = %(username_enc)s, background_enc = %(background_enc)s, profession_enc = %(profession_enc)s,
    communication_style_enc = %(communication_style_enc)s, response_format_enc = %(response_format_enc)s,
    language_preference_enc = %(language_preference_enc)s, characteristics_enc = %(characteristics_enc)s,
    content_enc = %(content_enc)s, expertise_areas_enc = %(expertise_areas_enc)s,
    programming_languages_enc = %(programming_languages_enc)s,
    frequently_used_tools_enc = %(frequently_used_tools_enc)s,
    email_enc = %(email_enc)s, email_mac = %(email_mac)s, phone_enc = %(phone_enc)s, phone_mac = %(phone_mac)s,
    preferences_enc = %(preferences_enc)s, version = %(version)s, stale_at = %(stale_at)s,
    is_deleted = %(is_deleted)s, deleted_at = case when %(is_deleted)s then now() end,
    updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
where scope_key = %(scope_key)s and version = %(version)s - 1
returning created_at, updated_at

-- name: user_stale
update user_profile
set stale_at = %(stale_at)s
where scope_key = %(scope_key)s

-- name: project
select project_goal_enc, tech_stack_enc, constraints_enc, team_conventions_enc, current_phase_enc, version,
    false as is_deleted, stale_at, created_at, updated_at
from project_profile
where scope_key = %(scope_key)s

-- name: begin_project
insert into project_profile (scope_key)
values (%(scope_key)s)
on conflict (scope_key) do nothing

-- name: put_project
update project_profile
set project_goal_enc = %(project_goal_enc)s, tech_stack_enc = %(tech_stack_enc)s,
    constraints_enc = %(constraints_enc)s, team_conventions_enc = %(team_conventions_enc)s,
    current_phase_enc = %(current_phase_enc)s, version = %(version)s, stale_at = %(stale_at)s,
    updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
where scope_key = %(scope_key)s and version = %(version)s - 1
returning created_at, updated_at

-- name: project_stale
update project_profile
set stale_at = %(stale_at)s
where scope_key = %(scope_key)s

-- name: decisions
select item_id, item_version, decision_enc, reason_enc, decided_at
from key_decision
where scope_key = %(scope_key)s
order by decided_at desc, item_id desc

-- name: put_decision
insert into key_decision (scope_key, item_id, item_version, decision_enc, reason_enc, decided_at)
values (%(scope_key)s, %(item_id)s, %(item_version)s, %(decision_enc)s, %(reason_enc)s, %(decided_at)s)
on conflict (scope_key, item_id) do update
set item_version = excluded.item_version, decision_enc = excluded.decision_enc,
    reason_enc = excluded.reason_enc, decided_at = excluded.decided_at

-- name: drop_decisions
delete from key_decision
where scope_key = %(scope_key)s and item_id = any (%(ids)s::uuid[])

-- name: behavior
select behavior_vector::real[] as vector, behavior_model_id as model_id, behavior_weight as weight,
    behavior_at as at, now() as now
from user_profile
where scope_key = %(scope_key)s
for update

-- name: behavior_since
select behavior_vector::real[] as vector, behavior_model_id as model_id, behavior_weight as weight,
    behavior_at as at, now() as now
from user_profile
where scope_key = %(scope_key)s and not is_deleted and asleep_at is null
  and created_at <= to_timestamp(%(since)s::float8) + interval '1 second'
for update

-- name: put_behavior
update user_profile
set behavior_vector = %(vector)s, behavior_model_id = %(model_id)s, behavior_weight = %(weight)s,
    behavior_at = %(at)s
where scope_key = %(scope_key)s
