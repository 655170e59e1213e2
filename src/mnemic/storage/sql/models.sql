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
select m.model_id, m.name, m.dims, m.created_at, m.indexed, d.model_id is not null as current
from embedding_model m
left join deployment d using (model_id)
where not m.own
order by m.model_id

-- name: model_of
select model_id, name, dims, calibration, indexed
from embedding_model
where model_id = %(model_id)s

-- name: service_login
select exists (select from pg_roles p where (p.rolsuper or p.rolbypassrls)
               and pg_has_role(current_user, p.oid, 'member'))
       or exists (select from pg_class c
                  where c.relnamespace = n.oid and pg_has_role(current_user, c.relowner, 'member')) as powerful,
       exists (select from pg_class c
               where c.relnamespace = n.oid and c.relname = 'schema_migration') as prepared,
       coalesce(has_schema_privilege(n.oid, 'usage'), false) as admitted
from (select to_regnamespace(quote_ident(%(schema)s)) as oid) n

-- name: applied
select number, sha256
from schema_migration

-- name: versions
select current_setting('server_version') as server,
       (select extversion from pg_extension where extname = 'vector') as pgvector
