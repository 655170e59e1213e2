-- Run as postgres while an embedded cluster is made; each statement may find its work done already.

-- name: role_exists
select 1 from pg_roles where rolname = %(name)s

-- name: create_owner
create role mnemic_owner login nosuperuser nocreatedb nocreaterole noreplication nobypassrls

-- name: create_service
create role mnemic_service login nosuperuser nocreatedb nocreaterole noreplication nobypassrls

-- name: database_exists
select 1 from pg_database where datname = 'mnemic'

-- name: create_database
create database mnemic owner mnemic_owner

-- name: close_databases
revoke all on database mnemic, postgres, template1 from public;
grant connect on database mnemic to mnemic_service

-- name: close_public_schema
revoke create on schema public from public

-- name: create_vector
create extension if not exists vector schema public

-- name: update_vector
alter extension vector update
