-- The logins of the HTTP server and of the worker, made or given their passwords anew. It reads
-- RAGDB_HTTP_PASSWORD and RAGDB_WORKER_PASSWORD of the environment. Run it as an administrator:
--   ragdb psql -- -v ON_ERROR_STOP=1 -f deploy/logins.sql
\set QUIET on
\getenv http_password RAGDB_HTTP_PASSWORD
\getenv worker_password RAGDB_WORKER_PASSWORD
-- neither password may come into the server's log
set log_statement = 'none';
set log_min_error_statement = 'panic';
set log_min_duration_statement = -1;

select 'create role ragdb_http login noinherit'
  where not exists (select from pg_roles where rolname = 'ragdb_http') \gexec
select 'create role ragdb_worker login'
  where not exists (select from pg_roles where rolname = 'ragdb_worker') \gexec

alter role ragdb_http password :'http_password';
alter role ragdb_worker password :'worker_password';
-- what a request may become is decided by its token; the server makes partitions of traces ahead
grant ragdb_reader to ragdb_http with inherit true;
grant ragdb_writer, ragdb_admin to ragdb_http with inherit false;
grant ragdb_writer to ragdb_worker;
