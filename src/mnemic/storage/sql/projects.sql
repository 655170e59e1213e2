-- Projects and who belongs to them. Policies look at the asker's role again, whatever is asked here.

-- name: found
insert into project (scope_key, project_id, created_by)
values (%(scope_key)s, %(project_id)s, %(user_id)s)
on conflict do nothing

-- name: name
update project
set name_enc = %(name_enc)s, version = %(version)s
where scope_key = %(scope_key)s

-- name: get
select scope_key, project_id, name_enc, created_by, created_at, version
from project
where scope_key = %(scope_key)s

-- name: mine
select p.scope_key, p.project_id, p.created_by, p.created_at, p.version, m.role
from project_member m join project p using (scope_key)
where m.user_id = %(user_id)s
order by p.project_id

-- name: hold
select version
from project
where scope_key = %(scope_key)s
for update

-- name: my_role
select my_role() as role

-- name: members
select user_id, role, since
from project_member
where scope_key = %(scope_key)s
order by since, user_id

-- name: member
select user_id, role, since,
    (select count(*) from project_member o where o.scope_key = m.scope_key and o.role = 'owner') as owners
from project_member m
where scope_key = %(scope_key)s and user_id = %(user_id)s

-- name: admit
insert into project_member (scope_key, user_id, role)
values (%(scope_key)s, %(user_id)s, %(role)s)

-- name: change_role
update project_member
set role = %(role)s
where scope_key = %(scope_key)s and user_id = %(user_id)s

-- name: remove
delete from project_member
where scope_key = %(scope_key)s and user_id = %(user_id)s

-- name: drop
select items, resources, members
from drop_project(%(really)s)
