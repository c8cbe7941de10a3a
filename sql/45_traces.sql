-- Traces: every retrieval leaves one row of retrieval_traces and a row of retrieval_hits per hit.
-- Both tables are partitioned by month (UTC), append-only, and granted to nobody; so are those of
-- rerankings, gates and answers, which share their months.

-- The canonical form of everything hashed here. A length before each field keeps two lists of
-- fields from having the same bytes, and the *_send functions give bytes that no setting changes (a
-- text cast of a float or a time depends on several). Text goes in as UTF-8: textsend follows
-- client_encoding.
create or replace function ragdb._fields_hash(variadic fields bytea[]) returns bytea
language sql immutable parallel safe
return (
  select pg_catalog.sha256(coalesce(pg_catalog.string_agg(
    coalesce(pg_catalog.int4send(pg_catalog.octet_length(f.bytes)) || f.bytes, '\xffffffff'::bytea),
    ''::bytea order by f.n), ''::bytea))
  from pg_catalog.unnest(fields) with ordinality as f (bytes, n));
comment on function ragdb._fields_hash(bytea[]) is
  'Returns the sha256 of a list of fields, each preceded by its length in four bytes, a null being '
  'length -1.';

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
  'Returns the sha256 (hex) of the ordered chunk ids, content hashes and scores of a retrieval: '
  'what the caller was given.';

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
      from pg_catalog.unnest((trace).chunk_ids) with ordinality as c (chunk_id, n) order by c.n))
        end,
    ragdb._utf8((trace).statistics),
    ragdb._utf8((trace).ranking_hash),
    ragdb._utf8((trace).result_hash),
    pg_catalog.int8send((trace).corpus_version),
    pg_catalog.boolsend((trace).is_exact),
    pg_catalog.float8send((trace).elapsed_ms),
    ragdb._utf8((trace).error_code),
    ragdb._utf8((trace).client),
    ragdb._utf8((trace).caller),
    ragdb._utf8((trace).otel_trace_id),
    ragdb._utf8((trace).otel_span_id),
    ragdb._utf8((trace).ranking::text)]
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
  'Returns the sha256 of a trace: all its columns but trace_hash and trace_mac, then its hits by '
  'rank.';

create or replace function ragdb._ranking_hash(corpus ragdb.corpora) returns text
language sql stable parallel safe
return pg_catalog.encode(ragdb._fields_hash('ragdb.ranking/1'::bytea,
  ragdb._utf8((corpus).text_config),
  pg_catalog.float8send((corpus).k1), pg_catalog.float8send((corpus).b),
    pg_catalog.float8send((corpus).pivot)), 'hex');
comment on function ragdb._ranking_hash(ragdb.corpora) is
  'Returns the sha256 (hex) of what decides a corpus''s ranking besides its documents: text '
  'configuration, k1, b and pivot.';

-- An id is a uuid version 7 and created_at is its millisecond, so that a lookup by id finds its
-- month.
create or replace function ragdb._uuid_time(id uuid) returns timestamptz
language sql stable parallel safe
return '1970-01-01 00:00:00+00'::timestamptz + interval '1 millisecond' * (
  'x' || pg_catalog.encode(pg_catalog.substring(pg_catalog.uuid_send(id), 1, 6),
    'hex'))::bit(48)::bigint;
comment on function ragdb._uuid_time(uuid) is
  'Returns the time in a uuid version 7, to the millisecond.';

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
  'Returns the name of the partition of a month, or of the default partition where the month is '
  'null.';

-- An insert may claim to be admissible only with a token that this database signed for a slice that
-- it has stored.
create or replace function ragdb._check_admissible() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[];
  v_secret bytea;
begin
  if new.is_admissible then
    v_parts := string_to_array(new.admissibility_token, '.');
    select k.secret into v_secret from ragdb.signing_keys k where k.key_id = v_parts[2]
      and k.state <> 'revoked';
    if v_secret is null or cardinality(v_parts) <> 5 or not exists (
        select from ragdb.slices s join ragdb.slice_policies p using (policy_id, params_hash)
          where s.corpus_id = new.corpus_id and s.slice_id = new.slice_id
            and s.anchor_chunk_id = new.anchor_chunk_id
            and s.policy_id = new.policy_id and s.params_hash = new.policy_params_hash
            and s.schema_version = new.schema_version
              and s.graph_snapshot_hash = new.graph_snapshot_hash
            and sha256(decode(v_parts[5], 'hex')) = sha256(ragdb._hmac_sha256(v_secret,
              ragdb._token_message(
              v_parts[2], new.corpus, s.slice_id, s.anchor_chunk_id, s.policy_id, p.sha256,
                s.graph_snapshot_hash,
              s.schema_version, v_parts[3]::bigint, v_parts[4]::bigint)))) then
      raise exception 'a trace may not claim to be admissible'
        using errcode = 'RG436',
          detail = 'its token was not issued here for a slice that is stored',
              hint = 'ragdb.retrieve_slice() records admissible retrievals';
    end if;
  end if;
  return new;
end $$;
comment on function ragdb._check_admissible() is
  'Refuses an admissible trace whose token this database did not sign for a stored slice. Raises '
  'RG436.';

-- What hangs from a trace stands before it: months are dropped in this order.
create or replace function ragdb._partitioned() returns text[]
language sql immutable parallel safe
return
  '{answer_citations,evidence_answers,evidence_gates,retrieval_hits,retrieval_reranks,'
  'retrieval_traces}'::text[];
comment on function ragdb._partitioned() is
  'Returns the names of the tables that are partitioned by month, those of what belongs to a trace '
  'before the traces.';

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
  if partition like 'retrieval\_traces\_%' then
    execute format('create or replace trigger admissibility_is_proved before insert'
      ' on ragdb.%I for each row when (new.is_admissible) execute function '
      'ragdb._check_admissible()', partition);
  end if;
end $$;
comment on function ragdb._protect_partition(text) is
  'Puts the triggers on a partition that make it append-only for everyone, and have an admissible '
  'trace prove itself.';

-- By time, for whoever asks about an hour or about the latest; what went wrong is a small part of
-- all. Hits and citations lie in the order of time and are many: for them the range of each block
-- is enough.
create or replace function ragdb._index_partition(partition text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if partition like 'retrieval\_traces\_%' then
    execute format('create index if not exists %I on ragdb.%I (created_at)',
      partition || '_by_time', partition);
    execute format('create index if not exists %I on ragdb.%I (created_at)'
      ' where error_code is not null or limit_returned = 0 or admissibility_shortfall',
        partition || '_by_trouble', partition);
  elsif partition like 'evidence\_%' then
    execute format('create index if not exists %I on ragdb.%I (created_at)',
      partition || '_by_time', partition);
  else
    execute format('create index if not exists %I on ragdb.%I using brin (created_at)'
      ' with (pages_per_range = 32, autosummarize = on)', partition || '_by_time', partition);
  end if;
end $$;
comment on function ragdb._index_partition(text) is
  'Makes the indexes of a partition besides its key, where they are missing.';

-- A key, an index or a trigger of the parent would be an extension's and its partitions' the
-- user's; such a dump restores empty. So every partition gets its own, and is attached only when it
-- is complete.
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
    case when parent in ('retrieval_hits', 'retrieval_reranks') then 'corpus_id, trace_id, rank'
      when parent = 'answer_citations' then 'corpus_id, answer_id, row_no'
      else 'corpus_id, id, created_at' end);
  perform ragdb._index_partition(v_name);
  perform ragdb._protect_partition(v_name);
  execute format('comment on table ragdb.%I is %L', v_name,
    format('The rows of ragdb.%s %s.', parent,
    coalesce('of ' || to_char(month, 'YYYY-MM') || ' (UTC)', 'whose month has no partition yet')));
  execute format('alter table ragdb.%I attach partition ragdb.%I ', parent, v_name) || case
    when month is null then 'default'
    else format('for values from (%L) to (%L)', to_char(month, 'YYYY-MM-DD') || ' 00:00:00+00',
      to_char(month + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00') end;
  return v_name;
end $$;
comment on function ragdb._make_partition(text, date) is
  'Makes the partition of a month (its first day; null makes the default one) with its key and '
  'triggers, and returns its name.';

-- an upgrade drops every function, and with _refuse_change these triggers; older partitions lack
-- newer indexes
do $$ begin
  perform ragdb._index_partition(c.relname), ragdb._protect_partition(c.relname)
  from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
  where i.inhparent = any (array(select ('ragdb.' || p.name)::regclass
    from unnest(ragdb._partitioned()) p (name)));
end $$;

-- Nothing is due on almost every call, and finding that out takes no lock. Otherwise a lock that a
-- long reader holds is waited for briefly and left for the next call: the months made ahead and the
-- default partition catch what is recorded meanwhile.
create or replace function ragdb.maintain() returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '3s'
as $$
declare
  v_parent text;
  v_default text;
  v_is_moving boolean := false;
  v_has_default boolean := not exists (select from unnest(ragdb._partitioned()) p (name)
    where to_regclass('ragdb.' || ragdb._partition_name(p.name, null)) is null);
  v_ahead date[] := array(
    select (date_trunc('month', ragdb._now() at time zone 'UTC') + make_interval(months => i))::date
    from generate_series(0, 3) i);
  v_months date[] := '{}';
  v_found date[];
  v_month date;
  v_made text[] := '{}';
begin
  perform ragdb._refresh_rollups(false);
  if v_has_default then
    foreach v_parent in array ragdb._partitioned() loop
      exit when v_is_moving;
      execute format('select exists (select from ragdb.%I)', ragdb._partition_name(v_parent, null))
        into v_is_moving;
    end loop;
    if not v_is_moving and not exists (select from unnest(v_ahead) m,
      unnest(ragdb._partitioned()) p (name)
      where to_regclass('ragdb.' || ragdb._partition_name(p.name, m)) is null)
    then
      return;
    end if;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('ragdb.maintain', 0));
  foreach v_parent in array ragdb._partitioned() loop
    v_default := ragdb._partition_name(v_parent, null);
    if to_regclass('ragdb.' || v_default) is not null then
      execute format('select coalesce(array_agg(distinct date_trunc(''month'', t.created_at at '
                     'time zone ''UTC'')::date), ''{}'')'
        ' from ragdb.%I t', v_default) into v_found;
      v_months := v_months || v_found;
    end if;
  end loop;
  v_is_moving := v_months <> '{}';
  v_months := array(select distinct m from unnest(v_months || v_ahead) m order by m);
  foreach v_parent in array ragdb._partitioned() loop
    v_default := ragdb._partition_name(v_parent, null);
    -- its rows may not be deleted, so a default partition with rows is replaced by a new one
    if v_is_moving and to_regclass('ragdb.' || v_default) is not null then
      execute format('alter table ragdb.%I detach partition ragdb.%I', v_parent, v_default);
    end if;
    foreach v_month in array v_months loop
      if to_regclass('ragdb.' || ragdb._partition_name(v_parent, v_month)) is null then
        v_made := v_made || ragdb._make_partition(v_parent, v_month);
      end if;
    end loop;
    if v_is_moving and to_regclass('ragdb.' || v_default) is not null then
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
  raise warning 'the partitions of traces are in use and are made by the next call of '
                'ragdb.maintain()';
end $$;
comment on function ragdb.maintain() is
  'Makes the partitions that traces need: this month, three ahead, those of rows in the default '
  'partition, and an empty default partition; returns the names of the tables made, none when '
  'nothing was due. It also refreshes the rollups of schema bi. Call it outside any insert, at '
  'least monthly, and every few minutes for dashboards.';

create or replace function ragdb.drop_traces_before(before date)
returns table (month date, traces bigint, hits bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parent text;
  v_rows bigint;
begin
  if before is null or before > (ragdb._now() at time zone 'UTC')::date then
    raise exception 'before is %', coalesce('in the future', 'null')
      using errcode = 'RG400', detail = 'only months that ended before that day are dropped',
            hint = 'give a date up to today, such as current_date - 90';
  end if;
  perform ragdb.maintain();
  perform pg_advisory_xact_lock(hashtextextended('ragdb.maintain', 0));
  -- counts outlive what is counted
  perform ragdb._refresh_rollups(true);
  for month in
    select to_date(right(c.relname, 7), 'YYYY_MM')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'ragdb.retrieval_traces'::regclass
      and c.relname ~ '^retrieval_traces_\d{4}_\d\d$'
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= before
    order by 1
  loop
    -- the traces last: no hit is ever without its own
    foreach v_parent in array ragdb._partitioned() loop
      continue when to_regclass('ragdb.' || ragdb._partition_name(v_parent, month)) is null;
      if v_parent like 'retrieval\_%' then
        execute format('select count(*) from ragdb.%I', ragdb._partition_name(v_parent, month))
          into v_rows;
        hits := case v_parent when 'retrieval_hits' then v_rows else hits end;
        traces := case v_parent when 'retrieval_traces' then v_rows else traces end;
      end if;
      execute format('drop table ragdb.%I', ragdb._partition_name(v_parent, month));
    end loop;
    insert into ragdb.settings as s (key, value)
      values ('traces_kept_from',
        to_jsonb(to_char(month + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00'))
      on conflict on constraint settings_key_is_unique do update
        set value = greatest(s.value, excluded.value);
    return next;
  end loop;
end $$;
comment on function ragdb.drop_traces_before(date) is
  'Drops the traces of whole months (UTC) that ended before a day, of every corpus, with their '
  'rerankings, gates and answers, and returns each month with the number of traces and hits '
  'dropped. It waits for readers of the tables. Raises RG400.';

-- Recording

do $$ begin
  if pg_catalog.to_regtype('ragdb.traced_hit') is null then
    create type ragdb.traced_hit as (
      trace_id uuid, rank integer, corpus text, chunk_id text, doc_cid text, source text,
        title text,
      heading text[], page integer, start_offset integer, end_offset integer, text text,
      citation jsonb, score float8, lexical_score float8, semantic_score float8,
      lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8,
      content_hash text, metadata jsonb, mode text, is_exact boolean);
  end if;
end $$;
comment on type ragdb.traced_hit is
  'One result of a recorded retrieval: a ragdb.hit after the id of its trace.';

-- The one way into both tables. The caller fills what it knows; identity, time, the hashes and what
-- the corpus lets be kept of the query are decided here.
create or replace function ragdb._record_trace(
  corpus ragdb.corpora, query text, trace ragdb.retrieval_traces, hits ragdb.hit[])
returns uuid
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hits ragdb.retrieval_hits[];
begin
  if length(trace.client) > 200 then
    raise exception 'client has % characters', length(trace.client)
      using errcode = 'RG413', detail = 'client names the program that asked',
            hint = 'give at most 200 characters';
  end if;
  if trace.otel_trace_id !~ '^[0-9a-f]{32}$' or trace.otel_span_id !~ '^[0-9a-f]{16}$' then
    raise exception 'otel_trace_id or otel_span_id is not an id of OpenTelemetry'
      using errcode = 'RG400', detail = 'a trace id is 32 lower-case hex digits, a span id is 16',
            hint = 'leave both null when there is no span';
  end if;
  trace.id := ragdb._uuid7(ragdb._now());
  trace.created_at := ragdb._uuid_time(trace.id);
  trace.corpus_id := corpus.corpus_id;
  trace.corpus := corpus.name;
  trace.corpus_version := corpus.version;
  trace.caller := ragdb._caller();
  if corpus.record_query_text = 'full' then
    trace.query_text := query;
  end if;
  if corpus.record_query_text <> 'none' then
    trace.query_hash := encode(sha256(ragdb._utf8(query)), 'hex');
  end if;
  v_hits := array(
    select row(trace.corpus_id, trace.id, trace.created_at, h.rank, h.chunk_id,
      decode(h.content_hash, 'hex'), h.score, h.lexical_score, h.semantic_score,
      h.lexical_rank, h.semantic_rank)::ragdb.retrieval_hits
    from unnest(hits) h);
  trace.limit_returned := cardinality(v_hits);
  trace.ranking_hash := ragdb._ranking_hash(corpus);
  trace.result_hash := ragdb._result_hash(v_hits);
  trace.trace_hash := ragdb._trace_hash(trace, v_hits);
  trace.trace_mac := ragdb._trace_mac(trace.trace_hash, (ragdb._signing_key()).secret);
  insert into ragdb.retrieval_traces values (trace.*);
  insert into ragdb.retrieval_hits select h.* from unnest(v_hits) h;
  insert into ragdb.trace_marks values (trace.corpus_id,
    date_trunc('hour', trace.created_at, 'UTC'));
  -- of the session, not the transaction: `select … from retrieve(…); select last_trace_id()` has
  -- two
  perform set_config('ragdb.last_trace_id', trace.id::text, false);
  return trace.id;
end $$;
comment on function ragdb._record_trace(ragdb.corpora, text, ragdb.retrieval_traces, ragdb.hit[]) is
  'Writes one trace and its hits and returns its id; the corpus is the row that the search saw. '
  'Raises RG400, RG413.';

create or replace function ragdb._note_meaning(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, embedder_id integer, query_embedding real[],
  fusion text, lexical_weight float8, min_lexical float8, min_semantic float8)
returns ragdb.retrieval_traces
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  trace.query_embedding_hash := encode(ragdb._vector_hash(query_embedding), 'hex');
  select e.name into strict trace.embedding_model
    from ragdb.embedders e where e.embedder_id = _note_meaning.embedder_id;
  trace.ranking := jsonb_build_object('fusion', fusion, 'lexical_weight', lexical_weight,
    'min_lexical', min_lexical, 'min_semantic', min_semantic);
  -- an embedding tells much of its text: what must not be kept of one is not kept of the other
  if corpus.record_query_text <> 'none' then
    perform ragdb._hold_corpus(corpus.corpus_id);
    perform ragdb._keep_query_embedding(corpus.corpus_id, embedder_id, query_embedding);
  end if;
  return trace;
end $$;
comment on function ragdb._note_meaning(ragdb.retrieval_traces, ragdb.corpora, integer, real[],
  text, float8, float8, float8) is
  'Enters in a trace how a semantic or hybrid search ranked, and keeps the embedding of its query '
  'unless the corpus keeps nothing of queries. Raises RG404.';

-- The search and the corpus row are read by one statement, hence from one snapshot: corpus_version
-- is the version that was searched.
create or replace function ragdb._retrieve(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
    lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0,
  client text default null, otel_trace_id text default null, otel_span_id text default null,
  retriever text default null, rag text default null)
returns setof ragdb.traced_hit
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started timestamptz := clock_timestamp();
  v_embedding constant real[] := ragdb._single(query_embedding);
  v_found record;
  v_trace ragdb.retrieval_traces;
begin
  if current_setting('transaction_read_only')::boolean then
    -- the standard code: clients that know it go to the primary
    raise exception 'retrieve records a trace, and this transaction is read-only'
      using errcode = 'read_only_sql_transaction',
            detail = 'the server is a standby, or the transaction or role is set to read-only',
            hint = 'ragdb.search() returns the same hits and records nothing';
  end if;
  -- one statement, one snapshot: what is recorded is what was searched
  select c as corpus, ragdb._space(c.corpus_id, 'current') as space,
      ragdb._search_mode(array[c], _retrieve.mode, _retrieve.query, v_embedding) as mode, array(
      select h from ragdb.search(corpus => _retrieve.corpus, query => _retrieve.query,
        k => _retrieve.k,
        mode => _retrieve.mode, min_score => _retrieve.min_score, filter => _retrieve.filter,
        chunk_ids => _retrieve.chunk_ids, statistics => _retrieve.statistics,
        query_embedding => _retrieve.query_embedding, fusion => _retrieve.fusion,
        lexical_weight => _retrieve.lexical_weight, min_lexical => _retrieve.min_lexical,
        min_semantic => _retrieve.min_semantic) h) as hits
    into strict v_found
    from ragdb._open_corpus(_retrieve.corpus, 'read') c;
  v_trace.retriever := retriever;
  v_trace.rag := rag;
  v_trace.retrieval_mode := 'global';
  v_trace.rank_mode := v_found.mode;
  if v_found.mode in ('semantic', 'hybrid') then
    v_trace := ragdb._note_meaning(v_trace, v_found.corpus, (v_found.space).embedder_id,
      ragdb._query_vector(v_found.corpus, v_found.space, query, v_embedding),
      fusion, lexical_weight, min_lexical, min_semantic);
  end if;
  v_trace.limit_requested := k;
  v_trace.min_score := min_score;
  v_trace.filters := filter;
  v_trace.chunk_ids := chunk_ids;
  v_trace.statistics := statistics;
  v_trace.is_admissible := false;
  v_trace.admissibility_shortfall := false;
  v_trace.is_exact := coalesce((select bool_and(h.is_exact)
    from unnest(v_found.hits::ragdb.hit[]) h), true);
  v_trace.client := client;
  v_trace.otel_trace_id := otel_trace_id;
  v_trace.otel_span_id := otel_span_id;
  v_trace.elapsed_ms := 1000 * extract(epoch from clock_timestamp() - v_started)::float8;
  v_trace.id := ragdb._record_trace(v_found.corpus, query, v_trace, v_found.hits);
  return query select v_trace.id, h.* from unnest(v_found.hits::ragdb.hit[]) h;
end $$;
comment on function ragdb._retrieve(text, text, integer, text, float8, jsonb, text[], text,
  float8[], text, float8, float8, float8, text, text, text, text, text) is
  'Searches and records the trace, with the retriever and the rag that asked. Raises what '
  'ragdb.retrieve raises.';

-- Definer: it writes tables that are granted to nobody.
create or replace function ragdb.retrieve(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
    lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.traced_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select h.* from ragdb._retrieve(
    retrieve.corpus, retrieve.query, retrieve.k, retrieve.mode, retrieve.min_score, retrieve.filter,
    retrieve.chunk_ids, retrieve.statistics, retrieve.query_embedding, retrieve.fusion,
    retrieve.lexical_weight, retrieve.min_lexical, retrieve.min_semantic, retrieve.client,
    retrieve.otel_trace_id, retrieve.otel_span_id) h;
end $$;
comment on function ragdb.retrieve(text, text, integer, text, float8, jsonb, text[], text, float8[],
  text, float8, float8, float8, text, text, text) is
  'Returns the hits of ragdb.search with the same arguments, best first, each with the id of the '
  'one trace that is recorded in the same transaction; client (up to 200 characters) names the '
  'program, otel_trace_id and otel_span_id its OpenTelemetry span. Raises what ragdb.search '
  'raises, RG400, RG413, and 25006 where nothing can be written.';

create or replace function ragdb.last_trace_id() returns uuid
language sql stable parallel safe
return nullif(pg_catalog.current_setting('ragdb.last_trace_id', true), '')::uuid;
comment on function ragdb.last_trace_id() is
  'Returns the id of the trace that this session recorded last, also when the retrieval had no '
  'hits; null when it recorded none.';

create or replace function ragdb.record_failure(
  corpus text, query text, error_code text, elapsed_ms float8,
  k integer default null, mode text default null, min_score float8 default null,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  client text default null, otel_trace_id text default null, otel_span_id text default null,
  slice_id text default null, anchor text default null, policy jsonb default null)
returns uuid
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(corpus, 'read');
  v_trace ragdb.retrieval_traces;
begin
  if error_code is null or error_code !~ '^[0-9A-Z]{5}$' or error_code = '00000' then
    raise exception 'error_code is %', ragdb._quote(error_code)
      using errcode = 'RG400', detail = 'it is the SQLSTATE that the retrieval raised',
            hint = 'five digits and capital letters, such as RG410 or 57014';
  end if;
  if elapsed_ms is null or not (elapsed_ms >= 0 and elapsed_ms < 'infinity') then
    raise exception 'elapsed_ms is %', coalesce(elapsed_ms::text, 'null')
      using errcode = 'RG400', detail = 'it is the time until the retrieval failed',
            hint = 'give milliseconds, 0 or more';
  end if;
  if length(slice_id) > 200 or length(anchor) > 2000 then
    raise exception 'slice_id or anchor is too long'
      using errcode = 'RG413', detail = 'neither can be one',
            hint = 'give at most 200 characters of slice_id, 2000 of anchor';
  end if;
  v_trace.retrieval_mode := case when coalesce(slice_id, anchor) is null then 'global'
    else 'slice' end;
  v_trace.slice_id := slice_id;
  v_trace.anchor_chunk_id := anchor;
  if policy is not null then
    begin
      select p.policy_id, p.params_hash into v_trace.policy_id, v_trace.policy_params_hash
        from ragdb._resolve_policy(policy) p;
    exception when sqlstate 'RG430' or sqlstate 'RG431' then
      null; -- what is no policy cannot be recorded as one
    end;
  end if;
  -- what is not a mode cannot be recorded as one
  v_trace.rank_mode := case when mode in ('lexical', 'semantic', 'hybrid', 'reference')
    then mode end;
  v_trace.limit_requested := k;
  v_trace.min_score := min_score;
  v_trace.filters := filter;
  v_trace.chunk_ids := chunk_ids;
  v_trace.statistics := statistics;
  v_trace.is_admissible := false;
  v_trace.admissibility_shortfall := false;
  v_trace.is_exact := false;
  v_trace.error_code := error_code;
  v_trace.elapsed_ms := elapsed_ms;
  v_trace.client := client;
  v_trace.otel_trace_id := otel_trace_id;
  v_trace.otel_span_id := otel_span_id;
  return ragdb._record_trace(v_corpus, query, v_trace, '{}');
end $$;
comment on function ragdb.record_failure(text, text, text, float8, integer, text, float8, jsonb,
  text[], text, text, text, text, text, text, jsonb) is
  'Records the trace of a retrieval that raised the SQLSTATE error_code after elapsed_ms '
  'milliseconds, with the arguments it had (slice_id or anchor and policy for one under a slice), '
  'and returns its id; the caller''s client calls it after the rollback. Raises RG400, RG404, '
  'RG413.';

-- Reading

-- The gate to a trace: who may read its corpus may read it.
create or replace function ragdb._open_trace(trace_id uuid) returns ragdb.retrieval_traces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_created_at timestamptz := ragdb._uuid_time(trace_id);
  v_trace ragdb.retrieval_traces;
begin
  if trace_id is null then
    raise exception 'trace_id is null'
      using errcode = 'RG400', detail = 'a trace is named by its id',
            hint = 'ragdb.list_traces() lists them';
  end if;
  -- the time leaves one partition, the corpus its key
  select t.* into v_trace
    from ragdb.corpora c join ragdb.retrieval_traces t on t.corpus_id = c.corpus_id
    where t.id = _open_trace.trace_id and t.created_at = v_created_at;
  if not found or not exists (select from ragdb.corpora c where c.corpus_id = v_trace.corpus_id
    and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0)
  then
    raise exception 'trace % does not exist', ragdb._quote(trace_id::text)
      using errcode = 'RG407',
            detail = 'no trace of that id is visible to role ' || ragdb._quote(ragdb._caller()),
            hint = 'ragdb.list_traces() lists the latest';
  end if;
  return v_trace;
end $$;
comment on function ragdb._open_trace(uuid) is
  'Returns a trace of a corpus that the caller may read. Raises RG400, RG407.';

-- Definer, like the readers below it: the tables are granted to nobody.
create or replace function ragdb.get_trace(trace_id uuid) returns ragdb.retrieval_traces
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return ragdb._open_trace(trace_id);
end $$;
comment on function ragdb.get_trace(uuid) is
  'Returns one trace of a corpus that the caller may read. Raises RG400, RG407.';

create or replace function ragdb.trace_hits(trace_id uuid) returns setof ragdb.retrieval_hits
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(trace_id);
begin
  return query select h.* from ragdb.retrieval_hits h
    where h.corpus_id = v_trace.corpus_id and h.trace_id = v_trace.id
      and h.created_at = v_trace.created_at
    order by h.rank;
end $$;
comment on function ragdb.trace_hits(uuid) is
  'Returns the hits of one trace, best first, without the text of the chunks. Raises RG400, RG407.';

create or replace function ragdb.list_traces(
  corpus text default null, since timestamptz default null, count integer default 50)
returns setof ragdb.retrieval_traces
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora integer[];
begin
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'count is the number of traces returned at most',
            hint = 'give 1 to 10000';
  end if;
  if corpus is not null then
    v_corpora := array[(ragdb._open_corpus(corpus, 'read')).corpus_id];
  else
    v_corpora := array(select c.corpus_id from ragdb.corpora c
      where ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0);
  end if;
  -- ids are in the order of time, so each corpus is one range of each partition's key, read
  -- backwards
  return query
    select t.* from unnest(v_corpora) c
    cross join lateral (
      select r.* from ragdb.retrieval_traces r
      where r.corpus_id = c and r.created_at >= coalesce(list_traces.since, '-infinity')
      order by r.id desc limit list_traces.count) t
    order by t.id desc limit list_traces.count;
end $$;
comment on function ragdb.list_traces(text, timestamptz, integer) is
  'Returns the latest traces, newest first, of one corpus or of all that the caller may read, '
  'recorded at or after since; count is 1 to 10000. Raises RG400, RG401, RG404.';

create or replace function ragdb.verify_trace(trace_id uuid)
returns table (field text, is_intact boolean, stored text, recomputed text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(trace_id);
  v_hits ragdb.retrieval_hits[] := array(select h from ragdb.trace_hits(trace_id) h);
  v_reranks ragdb.retrieval_reranks[] := array(select r from ragdb.trace_reranks(trace_id) r);
  v_reranked ragdb.retrieval_reranks := v_reranks[1];
begin
  return query
    select v.field, v.stored is not distinct from v.recomputed, v.stored, v.recomputed
    from (values
      ('trace_hash', encode(v_trace.trace_hash, 'hex'),
        encode(ragdb._trace_hash(v_trace, v_hits), 'hex')),
      ('result_hash', v_trace.result_hash, ragdb._result_hash(v_hits)),
      ('trace_mac', encode(v_trace.trace_mac, 'hex'),
        encode(ragdb._matching_mac(v_trace.trace_hash, v_trace.trace_mac, v_trace.created_at),
          'hex')),
      ('limit_returned', v_trace.limit_returned::text, cardinality(v_hits)::text),
      ('query_hash', v_trace.query_hash,
        case when v_trace.query_text is null then v_trace.query_hash
        else encode(sha256(ragdb._utf8(v_trace.query_text)), 'hex') end)
    ) as v (field, stored, recomputed)
    union all
    select v.field, v.stored is not distinct from v.recomputed, v.stored, v.recomputed
    from (values
      ('rerank_hash', encode(v_reranked.rerank_hash, 'hex'),
        encode(ragdb._rerank_hash(v_trace.trace_hash, v_reranks), 'hex')),
      ('rerank_mac', encode(v_reranked.rerank_mac, 'hex'), encode(
        ragdb._matching_mac(v_reranked.rerank_hash, v_reranked.rerank_mac, v_reranked.recorded_at),
          'hex'))
    ) as v (field, stored, recomputed)
    where v_reranks <> '{}';
end $$;
comment on function ragdb.verify_trace(uuid) is
  'Recomputes the hashes of a trace from its rows: one row for trace_hash (every column and hit), '
  'trace_mac (where a signing key existed), result_hash, limit_returned and query_hash, and of its '
  'reranking where it has one, rerank_hash and rerank_mac; is_intact false where a row was edited, '
  'added or removed since. Raises RG400, RG407.';
