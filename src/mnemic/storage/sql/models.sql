-- Which embedding models are known, and which one is the deployment's?

-- name: find_model
select model_id, calibration
from embedding_model
where name = %(name)s and dims = %(dims)s

-- name: add_model
insert into embedding_model (name, dims, calibration)
values (%(name)s, %(dims)s, %(calibration)s)
on conflict (name, dims) do nothing

-- name: deployment_model
select m.model_id, m.name, m.dims
from deployment d
left join embedding_model m using (model_id)

-- name: adopt_model
update deployment
set model_id = %(model_id)s
where model_id is null

-- name: list_models
select m.model_id, m.name, m.dims, m.created_at, d.model_id is not null as current
from embedding_model m
left join deployment d using (model_id)
order by m.model_id

-- name: service_login
select r.rolname, r.rolsuper or r.rolbypassrls as powerful,
       exists (select from pg_class c where c.relowner = r.oid
               and c.relnamespace = to_regnamespace(%(schema)s)) as owner
from pg_roles r
where r.rolname = current_user

-- name: deployment
select id, kek_id, kek_check
from deployment

-- name: applied
select number, sha256
from schema_migration

-- name: versions
select current_setting('server_version') as server,
       (select extversion from pg_extension where extname = 'vector') as pgvector
