-- One partition: its name, its triggers and its indexes. The parents have none of these.

-- Returns the name of the partition of a month, or of the default partition where the month is
-- null.
create or replace function ragdb_internal.partition_name(parent text, month date) returns text
language sql stable parallel safe
return parent || '_' || coalesce(pg_catalog.to_char(month, 'YYYY_MM'), 'default');

-- Refuses an admissible trace whose token this database did not sign for a stored slice. An insert
-- may claim to be admissible only with a token that this database signed for a slice that it has
-- stored. Raises RG436.
create or replace function ragdb_internal.check_admissible() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[];
  v_secret bytea;
begin
  if new.is_admissible then
    v_parts := string_to_array(new.admissibility_token, '.');
    select ragdb_internal.secret_at_hand(k) into v_secret from ragdb.signing_keys k
      where k.key_id = v_parts[2] and k.state <> 'revoked';
    if v_secret is null or cardinality(v_parts) <> 5 or not exists (
        select from ragdb.slices s join ragdb.slice_policies p using (policy_id, params_hash)
          where s.corpus_id = new.corpus_id and s.slice_id = new.slice_id
            and s.anchor_chunk_id = new.anchor_chunk_id
            and s.policy_id = new.policy_id and s.params_hash = new.policy_params_hash
            and s.schema_version = new.schema_version
            and s.graph_snapshot_hash = new.graph_snapshot_hash
            and sha256(decode(v_parts[5], 'hex'))
              = sha256(ragdb_internal.hmac_sha256(v_secret, ragdb_internal.token_message(
                v_parts[2], new.corpus, s.slice_id, s.anchor_chunk_id, s.policy_id, p.sha256,
                s.graph_snapshot_hash, s.schema_version, v_parts[3]::bigint,
                v_parts[4]::bigint))))
    then
      raise exception 'a trace may not claim to be admissible'
        using errcode = 'RG436',
          detail = 'its token was not issued here for a slice that is stored',
          hint = 'ragdb.retrieve_slice() records admissible retrievals';
    end if;
  end if;
  return new;
end $$;

-- Returns the names of the tables that are partitioned by month, those of what belongs to a trace
-- before the traces. What hangs from a trace stands before it: they are erased in this order.
create or replace function ragdb_internal.partitioned() returns text[]
language sql immutable parallel safe
return
  '{answer_citations,evidence_answers,evidence_feedback,evidence_gates,retrieval_hits,'
  'retrieval_reranks,retrieval_traces}'::text[];

-- Returns the columns of the key of each partition of a table.
create or replace function ragdb_internal.partition_key(parent text) returns text
language sql immutable parallel safe
return case
  when parent in ('retrieval_hits', 'retrieval_reranks') then 'corpus_id, trace_id, rank'
  when parent = 'answer_citations' then 'corpus_id, answer_id, row_no'
  else 'corpus_id, id, created_at' end;

-- Returns the tables of traces, or their partitions of some months (null among these: the default
-- ones), as ragdb_internal.lock_in_turn takes them; null where there is none. Lock all at once: who
-- has locked one of them holds up every search that is recorded, so he waits for no other.
create or replace function ragdb_internal.trace_tables(months date[] default null) returns text
language sql stable parallel safe
begin atomic
  select pg_catalog.string_agg('ragdb.' || t.name, ', ' order by t.name desc)
    from pg_catalog.unnest(ragdb_internal.partitioned()) p (name)
      cross join lateral (
        select p.name where trace_tables.months is null
        union all
        select ragdb_internal.partition_name(p.name, m)
          from pg_catalog.unnest(trace_tables.months) m) t
    where pg_catalog.to_regclass('ragdb.' || t.name) is not null;
end;

-- Puts the triggers on a partition that make it append-only for everyone, and have an admissible
-- trace prove itself.
create or replace function ragdb_internal.protect_partition(partition text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.make_append_only(partition);
  if partition like E'retrieval\\_traces\\_%' then
    execute format('create or replace trigger admissibility_is_proved before insert'
      ' on ragdb.%I for each row when (new.is_admissible) execute function '
      'ragdb_internal.check_admissible()', partition);
  end if;
end $$;

-- Makes the indexes of a partition besides its key, where they are missing. By time, for whoever
-- asks about an hour or about the latest; by who asked, for each reads their own; by mode and
-- duration, for lists of what is rare; by slice, for that is what a citation names; what went wrong
-- is a small part of all. Hits and citations lie in the order of time and are many: for them the
-- range of each block is enough.
create or replace function ragdb_internal.index_partition(partition text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if partition like E'retrieval\\_traces\\_%' then
    execute format('create index if not exists %I on ragdb.%I (created_at)',
      partition || '_by_time', partition);
    execute format('create index if not exists %I on ragdb.%I (corpus_id, caller, id)',
      partition || '_by_caller', partition);
    execute format('create index if not exists %I on ragdb.%I (created_at)'
      ' where error_code is not null or limit_returned = 0 or admissibility_shortfall',
      partition || '_by_trouble', partition);
    execute format('create index if not exists %I on ragdb.%I (corpus_id, id)'
      ' where admissibility_shortfall', partition || '_by_shortfall', partition);
    execute format('create index if not exists %I on ragdb.%I (corpus_id, rank_mode, id)',
      partition || '_by_mode', partition);
    execute format('create index if not exists %I on ragdb.%I (corpus_id, elapsed_ms)',
      partition || '_by_duration', partition);
    execute format('create index if not exists %I on ragdb.%I (corpus_id, slice_id)'
      ' where slice_id is not null', partition || '_by_slice', partition);
  elsif partition like E'evidence\\_%' then
    execute format('create index if not exists %I on ragdb.%I (created_at)',
      partition || '_by_time', partition);
  else
    execute format('create index if not exists %I on ragdb.%I using brin (created_at)'
      ' with (pages_per_range = 32, autosummarize = on)', partition || '_by_time', partition);
  end if;
end $$;

-- An upgrade drops every function, and with refuse_change these triggers; older partitions lack
-- newer indexes.
do $$ begin
  perform ragdb_internal.index_partition(c.relname), ragdb_internal.protect_partition(c.relname)
  from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
  where i.inhparent = any (array(select ('ragdb.' || p.name)::regclass
    from unnest(ragdb_internal.partitioned()) p (name)));
end $$;

-- Returns the months (their first days) that have a partition of traces.
create or replace function ragdb_internal.traced_months() returns setof date
language sql stable parallel safe
begin atomic
  select pg_catalog.to_date(pg_catalog.right(c.relname, 7), 'YYYY_MM')
    from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'ragdb.retrieval_traces'::regclass
      and c.relname ~ '^retrieval_traces_\d{4}_\d\d$';
end;
