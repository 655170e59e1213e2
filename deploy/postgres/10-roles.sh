#!/bin/sh
# Run once by the image of PostgreSQL, when its data directory is made: the two logins, the database, pgvector.
set -eu

secrets=${SECRETS_DIR:-/run/secrets}
psql --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
    --set owner_password="$(cat "$secrets/owner_password")" \
    --set service_password="$(cat "$secrets/service_password")" <<'SQL'
CREATE ROLE mnemic_owner LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'owner_password';
CREATE ROLE mnemic_service LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'service_password';
CREATE DATABASE mnemic OWNER mnemic_owner;
REVOKE ALL ON DATABASE mnemic FROM PUBLIC;
GRANT CONNECT ON DATABASE mnemic TO mnemic_service;
\connect mnemic
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
CREATE EXTENSION IF NOT EXISTS vector;
SQL
