-- Run once by an administrator (superuser, or your provider's equal). Put passwords of your own.
-- The owner migrates (MNEMIC_MIGRATION_URL); the service works (MNEMIC_DATABASE_URL), owns nothing and
-- cannot see past row-level security.
CREATE ROLE mnemic_owner LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD 'change-me';
CREATE ROLE mnemic_service LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD 'change-me-too';
CREATE DATABASE mnemic OWNER mnemic_owner;
\connect mnemic
CREATE EXTENSION IF NOT EXISTS vector;
