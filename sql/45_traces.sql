-- Traces: every retrieval leaves one row of retrieval_traces and a row of retrieval_hits per hit.
-- Both tables are partitioned by month (UTC), append-only, and granted to nobody.

-- The canonical form of everything hashed here. A length before each field keeps two lists of fields from
-- having the same bytes, and the *_send functions give bytes that no setting changes (a text cast of a
-- float or a time depends on several). Text goes in as UTF-8: textsend follows client_encoding.
create or replace function ragdb._fields_hash(variadic fields bytea[]) returns bytea
language sql immutable parallel safe
return (
  select pg_catalog.sha256(coalesce(pg_catalog.string_agg(
    coalesce(pg_catalog.int4send(pg_catalog.octet_length(f.bytes)) || f.bytes, '\xffffffff'::bytea),
    ''::bytea order by f.n), ''::bytea))
  from pg_catalog.unnest(fields) with ordinality as f (bytes, n));
comment on function ragdb._fields_hash(bytea[]) is
  'Returns the sha256 of a list of fields, each preceded by its length in four bytes, a null being length -1.';

create or replace function ragdb._utf8(value text) returns bytea
language sql stable parallel safe
return pg_catalog.convert_to(value, 'UTF8');
comment on function ragdb._utf8(text) is 'Returns the UTF-8 bytes of a text.';

create or replace function ragdb._result_hash(hits ragdb.retrieval_hits[]) returns text
language sql stable parallel safe
return pg_catalog.encode(ragdb._fields_hash(variadic
  array['ragdb.result/1'::bytea] || array(
    select f.bytes
    from pg_catalog.unnest(hits) as h
    cross join lateral pg_catalog.unnest(
      array[ragdb._utf8(h.chunk_id), h.content_hash, pg_catalog.float8send(h.score)])
      with ordinality as f (bytes, n)
    order by h.rank, f.n)), 'hex');
comment on function ragdb._result_hash(ragdb.retrieval_hits[]) is
  'Returns the sha256 (hex) of the ordered chunk ids, content hashes and scores of a retrieval: what the caller was given.';

-- Everything but trace_hash itself and trace_mac, in the order of the columns.
create or replace function ragdb._trace_hash(
  trace ragdb.retrieval_traces, hits ragdb.retrieval_hits[])
returns bytea
language sql stable parallel safe
return ragdb._fields_hash(variadic array[
    'ragdb.trace/1'::bytea,
    pg_catalog.int4send((trace).corpus_id),
    pg_catalog.uuid_send((trace).id),
    pg_catalog.timestamptz_send((trace).created_at),
    ragdb._utf8((trace).corpus),
    ragdb._utf8((trace).retriever),
    ragdb._utf8((trace).rag),
    ragdb._utf8((trace).retrieval_mode),
    ragdb._utf8((trace).rank_mode),
    ragdb._utf8((trace).query_text),
    ragdb._utf8((trace).query_hash),
    ragdb._utf8((trace).query_embedding_hash),
    ragdb._utf8((trace).embedding_model),
    ragdb._utf8((trace).slice_id),
    ragdb._utf8((trace).anchor_chunk_id),
    pg_catalog.int4send((trace).slice_chunk_count),
    pg_catalog.int4send((trace).slice_edge_count),
    ragdb._utf8((trace).policy_id),
    ragdb._utf8((trace).policy_params_hash),
    ragdb._utf8((trace).schema_version),
    ragdb._utf8((trace).graph_snapshot_hash),
    ragdb._utf8((trace).admissibility_token),
    pg_catalog.boolsend((trace).is_admissible),
    pg_catalog.boolsend((trace).admissibility_shortfall),
    ragdb._utf8((trace).shortfall_reason),
    pg_catalog.int4send((trace).limit_requested),
    pg_catalog.int4send((trace).limit_returned),
    pg_catalog.float8send((trace).min_score),
    -- the text of a jsonb value is one and the same under every setting
    ragdb._utf8((trace).filters::text),
    case when (trace).chunk_ids is not null then ragdb._fields_hash(variadic array(
      select ragdb._utf8(c.chunk_id)
      from pg_catalog.unnest((trace).chunk_ids) with ordinality as c (chunk_id, n) order by c.n)) end,
    ragdb._utf8((trace).statistics),
    ragdb._utf8((trace).result_hash),
    pg_catalog.int8send((trace).corpus_version),
    pg_catalog.boolsend((trace).is_exact),
    pg_catalog.float8send((trace).elapsed_ms),
    ragdb._utf8((trace).error_code),
    ragdb._utf8((trace).client),
    ragdb._utf8((trace).caller),
    ragdb._utf8((trace).otel_trace_id),
    ragdb._utf8((trace).otel_span_id)]
  || array(
    select f.bytes
    from pg_catalog.unnest(hits) as h
    cross join lateral pg_catalog.unnest(array[
      pg_catalog.int4send(h.rank), ragdb._utf8(h.chunk_id), h.content_hash,
      pg_catalog.float8send(h.score), pg_catalog.float8send(h.lexical_score),
      pg_catalog.float8send(h.semantic_score), pg_catalog.int4send(h.lexical_rank),
      pg_catalog.int4send(h.semantic_rank)]) with ordinality as f (bytes, n)
    order by h.rank, f.n));
comment on function ragdb._trace_hash(ragdb.retrieval_traces, ragdb.retrieval_hits[]) is
  'Returns the sha256 of a trace: all its columns but trace_hash and trace_mac, then its hits by rank.';

-- An id is a uuid version 7 and created_at is its millisecond, so that a lookup by id finds its month.
create or replace function ragdb._uuid_time(id uuid) returns timestamptz
language sql stable parallel safe
return '1970-01-01 00:00:00+00'::timestamptz + interval '1 millisecond' * (
  'x' || pg_catalog.encode(pg_catalog.substring(pg_catalog.uuid_send(id), 1, 6), 'hex'))::bit(48)::bigint;
comment on function ragdb._uuid_time(uuid) is 'Returns the time in a uuid version 7, to the millisecond.';

-- Partitions

create or replace function ragdb._refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception '% of ragdb.% is refused', lower(tg_op), tg_table_name
    using errcode = 'RG414', detail = 'traces are append-only, for their owner too',
          hint = 'ragdb.drop_traces_before() drops whole months';
end $$;
comment on function ragdb._refuse_change() is
  'Trigger of append-only tables: refuses every update, delete and truncate. Raises RG414.';

create or replace function ragdb._partition_name(parent text, month date) returns text
language sql stable parallel safe
return parent || '_' || coalesce(pg_catalog.to_char(month, 'YYYY_MM'), 'default');
comment on function ragdb._partition_name(text, date) is
  'Returns the name of the partition of a month, or of the default partition where the month is null.';

create or replace function ragdb._protect_partition(partition text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('create or replace trigger rows_are_append_only before update or delete'
    ' on ragdb.%I for each row execute function ragdb._refuse_change()', partition);
  execute format('create or replace trigger table_is_append_only before truncate'
    ' on ragdb.%I for each statement execute function ragdb._refuse_change()', partition);
  -- always: session_replication_role switches ordinary triggers off
  execute format('alter table ragdb.%I enable always trigger rows_are_append_only,'
    ' enable always trigger table_is_append_only', partition);
end $$;
comment on function ragdb._protect_partition(text) is
  'Puts the triggers on a partition that make it append-only for everyone.';

-- A key, an index or a trigger of the parent would be an extension's and its partitions' the user's; such a
-- dump restores empty. So every partition gets its own, and is attached only when it is complete.
create or replace function ragdb._make_partition(parent text, month date) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := ragdb._partition_name(parent, month);
begin
  execute format('create table ragdb.%I (like ragdb.%I including all)', v_name, parent);
  execute format('alter table ragdb.%I add constraint %I primary key (%s)', v_name,
    v_name || '_ids_are_unique',
    case parent when 'retrieval_hits' then 'corpus_id, trace_id, rank'
      else 'corpus_id, id, created_at' end);
  perform ragdb._protect_partition(v_name);
  execute format('comment on table ragdb.%I is %L', v_name, format('The rows of ragdb.%s %s.', parent,
    coalesce('of ' || to_char(month, 'YYYY-MM') || ' (UTC)', 'whose month has no partition yet')));
  execute format('alter table ragdb.%I attach partition ragdb.%I ', parent, v_name) || case
    when month is null then 'default'
    else format('for values from (%L) to (%L)', to_char(month, 'YYYY-MM-DD') || ' 00:00:00+00',
      to_char(month + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00') end;
  return v_name;
end $$;
comment on function ragdb._make_partition(text, date) is
  'Makes the partition of a month (its first day; null makes the default one) with its key and triggers, and returns its name.';

-- an upgrade drops every function, and with _refuse_change these triggers
do $$ begin
  perform ragdb._protect_partition(c.relname)
  from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
  where i.inhparent in ('ragdb.retrieval_traces'::regclass, 'ragdb.retrieval_hits'::regclass);
end $$;

-- Nothing is due on almost every call, and finding that out takes no lock. Otherwise a lock that a long
-- reader holds is waited for briefly and left for the next call: the months made ahead and the default
-- partition catch what is recorded meanwhile.
create or replace function ragdb.maintain() returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '3s'
as $$
declare
  v_parent text;
  v_default text;
  v_is_moving boolean;
  v_has_default boolean := to_regclass('ragdb.retrieval_hits_default') is not null;
  v_ahead date[] := array(
    select (date_trunc('month', ragdb._now() at time zone 'UTC') + make_interval(months => i))::date
    from generate_series(0, 3) i);
  v_months date[];
  v_month date;
  v_made text[] := '{}';
begin
  if v_has_default
    and to_regclass('ragdb.' || ragdb._partition_name('retrieval_hits', v_ahead[1])) is not null
    and to_regclass('ragdb.' || ragdb._partition_name('retrieval_hits', v_ahead[4])) is not null
  then
    execute 'select exists (select from ragdb.retrieval_traces_default)' into v_is_moving;
    if not v_is_moving then
      return;
    end if;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('ragdb.maintain', 0));
  foreach v_parent in array array['retrieval_traces', 'retrieval_hits'] loop
    v_months := v_ahead;
    v_is_moving := false;
    v_default := ragdb._partition_name(v_parent, null);
    if to_regclass('ragdb.' || v_default) is not null then
      execute format('select coalesce(array_agg(distinct date_trunc(''month'','
        ' created_at at time zone ''UTC'')::date), ''{}'') from ragdb.%I', v_default) into v_months;
      v_is_moving := v_months <> '{}';
      v_months := array(select distinct m from unnest(v_months || v_ahead) m order by m);
    end if;
    -- its rows may not be deleted, so a default partition with rows is replaced by a new one
    if v_is_moving then
      execute format('alter table ragdb.%I detach partition ragdb.%I', v_parent, v_default);
    end if;
    foreach v_month in array v_months loop
      if to_regclass('ragdb.' || ragdb._partition_name(v_parent, v_month)) is null then
        v_made := v_made || ragdb._make_partition(v_parent, v_month);
      end if;
    end loop;
    if v_is_moving then
      execute format('insert into ragdb.%I select * from ragdb.%I', v_parent, v_default);
      execute format('drop table ragdb.%I', v_default);
    end if;
    if to_regclass('ragdb.' || v_default) is null then
      v_made := v_made || ragdb._make_partition(v_parent, null);
    end if;
  end loop;
  return query select m from unnest(v_made) m;
exception when lock_not_available then
  if not v_has_default then
    raise;
  end if;
  raise warning 'the partitions of traces are in use and are made by the next call of ragdb.maintain()';
end $$;
comment on function ragdb.maintain() is
  'Makes the partitions that traces need: this month, three ahead, those of rows in the default partition, and an empty default partition; returns the names of the tables made, none when nothing was due. Call it outside any insert, at least monthly.';

create or replace function ragdb.drop_traces_before(before date)
returns table (month date, traces bigint, hits bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if before is null or before > (ragdb._now() at time zone 'UTC')::date then
    raise exception 'before is %', coalesce('in the future', 'null')
      using errcode = 'RG400', detail = 'only months that ended before that day are dropped',
            hint = 'give a date up to today, such as current_date - 90';
  end if;
  perform ragdb.maintain();
  perform pg_advisory_xact_lock(hashtextextended('ragdb.maintain', 0));
  for month in
    select to_date(right(c.relname, 7), 'YYYY_MM')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'ragdb.retrieval_traces'::regclass
      and c.relname ~ '^retrieval_traces_\d{4}_\d\d$'
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= before
    order by 1
  loop
    -- hits first: no hit is ever without its trace
    execute format('select count(*) from ragdb.%I', ragdb._partition_name('retrieval_hits', month))
      into hits;
    execute format('drop table ragdb.%I', ragdb._partition_name('retrieval_hits', month));
    execute format('select count(*) from ragdb.%I', ragdb._partition_name('retrieval_traces', month))
      into traces;
    execute format('drop table ragdb.%I', ragdb._partition_name('retrieval_traces', month));
    return next;
  end loop;
end $$;
comment on function ragdb.drop_traces_before(date) is
  'Drops the traces of whole months (UTC) that ended before a day, of every corpus, and returns each month with the number of traces and hits dropped. It waits for readers of the tables. Raises RG400.';
