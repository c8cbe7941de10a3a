-- A corpus that has arrived is compared, document by document and then in whole, and opened.

create or replace function ragdb.check_move(
  move_id uuid, after integer default 0, count integer default 1000)
returns table ("position" integer, differing text[])
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set extra_float_digits = 1
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.enter_arrival(check_move.move_id);
  v_id constant integer := v_corpus.corpus_id;
  v_space constant ragdb.embedding_spaces := ragdb_internal.space(v_id, 'current');
begin
  perform ragdb_internal.check_page(check_move.after, check_move.count);
  return query
    with asked as materialized (
      select m.number, m.source, m.hash from ragdb.move_documents m
      where m.corpus_id = v_id and not m.is_checked and m.number > check_move.after
      order by m.number limit check_move.count
    ), found as materialized (
      select a.number, a.source, coalesce(ragdb_internal.moved_hash(
        ragdb_internal.moved_document(v_id, s.doc_no), e.ordinals, e.embeddings) = a.hash, false)
          as is_equal
      from asked a
        left join ragdb.document_sources s on s.corpus_id = v_id and s.uri = a.source
        left join lateral ragdb_internal.moved_embeddings(v_id, s.doc_no, v_space.space_id) e
          on true
    ), noted as (
      update ragdb.move_documents m set is_checked = true
        from found f where m.corpus_id = v_id and m.number = f.number and f.is_equal
    )
    select max(f.number), coalesce(array_agg(f.source order by f.number)
      filter (where not f.is_equal), '{}')
    from found f having count(*) > 0;
  if not found then
    -- now, because writers wait for what is left of it later
    perform ragdb_internal.catch_up(v_corpus);
  end if;
end $$;
comment on function ragdb.check_move is
  'Compares the next count (1 to 1000) documents of a corpus that arrives, after a number, with '
  'their hashes: returns the last number and the sources of those that differ; no row when all '
  'have been compared, and the lexical index is complete then. Raises RG400, RG457.';

-- Sets what may have changed of a corpus since it began to arrive: title, rights, synonyms, what is
-- recorded. Raises RG413, RG457.
create or replace function ragdb_internal.take_settings(corpus ragdb.corpora, digest jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant integer := corpus.corpus_id;
  v_role text;
begin
  perform ragdb_internal.check_roles(digest -> 'rights');
  for v_role in
    delete from ragdb.corpus_grants g where g.corpus_id = v_id
      and not digest #> '{rights,grants}' @> jsonb_build_object(g.role, g.privilege)
      returning g.role
  loop
    perform ragdb_internal.record_access('revoke', v_id, corpus.name,
      'from ' || ragdb_internal.quote(v_role));
  end loop;
  perform ragdb_internal.record_access('unrestrict', v_id, corpus.name, 'as where it came from')
    where corpus.is_restricted and not (digest #>> '{rights,is_restricted}')::boolean;
  perform ragdb_internal.set_grant(v_id, g.key, g.value)
    from jsonb_each_text(digest #> '{rights,grants}') g
    where not exists (select from ragdb.corpus_grants o
      where o.corpus_id = v_id and o.role = g.key and o.privilege = g.value);
  delete from ragdb.synonyms s where s.corpus_id = v_id
    and not digest -> 'synonyms' @> jsonb_build_array(jsonb_build_array(s.word, s.means));
  update ragdb.corpora c
    set title = digest #>> '{settings,title}',
      record_query_text = digest #>> '{settings,record_query_text}',
      is_restricted = (digest #>> '{rights,is_restricted}')::boolean,
      record_reads = digest #>> '{rights,record_reads}',
      has_synonyms = digest -> 'synonyms' <> '[]'
    where c.corpus_id = v_id;
  perform ragdb_internal.store_synonyms(corpus,
      array(select s ->> 0 from jsonb_array_elements(digest -> 'synonyms') s),
      array(select s ->> 1 from jsonb_array_elements(digest -> 'synonyms') s))
    where digest -> 'synonyms' <> '[]';
  perform ragdb_internal.record_state('settings', v_id),
    ragdb_internal.record_state('rights', v_id), ragdb_internal.record_state('synonyms', v_id);
end $$;

create or replace function ragdb.ready_move(move_id uuid, digest jsonb) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.enter_arrival(ready_move.move_id);
  v_id constant integer := v_corpus.corpus_id;
  v_own jsonb;
  v_differing text;
begin
  if not coalesce((digest ->> 'lamport')::bigint between 0 and 1e18, false)
    or (digest ->> 'history')::interval <= interval '0' then
    perform ragdb_internal.refuse_what_came('its lamport or its history is out of range');
  end if;
  perform ragdb_internal.take_settings(v_corpus, digest), ragdb_internal.catch_up(v_corpus);
  v_own := ragdb_internal.corpus_digest(ragdb_internal.corpus_row(v_id));
  select coalesce(
      'documents such as ' || (select ragdb_internal.quote(m.source) from ragdb.move_documents m
        where m.corpus_id = v_id and not m.is_checked order by m.number limit 1),
      (select string_agg(k.key, ', ' order by k.key)
        from jsonb_object_keys((v_own || digest) - array['history', 'lamport']) k (key)
        where digest -> k.key is distinct from v_own -> k.key))
    into v_differing;
  if v_differing is not null then
    perform ragdb_internal.refuse_move(
      format('what arrived of corpus %s is not what left', ragdb_internal.quote(v_corpus.name)),
      'it differs in ' || v_differing,
      'where it has been optimized or embedded anew since, leave the move and begin again');
  end if;
  perform ragdb_internal.note_filled(s.space_id)
    from ragdb.embedding_spaces s where s.corpus_id = v_id;
  update ragdb.moves m set state = 'ready', digest = ready_move.digest
    where m.move_id = ready_move.move_id and m.direction = 'in';
exception when data_exception or integrity_constraint_violation then
  perform ragdb_internal.refuse_what_came(sqlerrm);
end $$;
comment on function ragdb.ready_move is
  'Compares a corpus that has arrived with what ragdb.move_digest returned there, once '
  'ragdb.check_move has found no difference. Raises RG413, RG457.';

create or replace function ragdb.open_move(move_id uuid, receipt bytea) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_move constant ragdb.moves := ragdb_internal.take_move(open_move.move_id, 'in');
  v_id constant integer := v_move.corpus_id;
begin
  if v_move.state = 'done' then
    return;
  end if;
  perform ragdb_internal.check_move_state(v_move, '{ready}');
  if sha256(receipt) is distinct from v_move.receipt then
    perform ragdb_internal.refuse_move(
      format('corpus %s is not proven to be closed where it was',
        ragdb_internal.quote(v_move.corpus)),
      'writers there and here would make two corpora of it',
      'pass what ragdb.move_receipt() returns there after ragdb.finish_move()');
  end if;
  update ragdb.corpora c
    set moving = null, import_xid = null,
      -- who reads its events on here, by its name, misses none
      lamport = greatest(c.lamport, (v_move.digest ->> 'lamport')::bigint),
      history = (v_move.digest ->> 'history')::interval,
      history_from = case when v_move.digest ->> 'history' is not null then c.version end,
      history_since = case when v_move.digest ->> 'history' is not null
        then ragdb_internal.now() end
    where c.corpus_id = v_id;
  perform ragdb_internal.record_state('settings', v_id);
  update ragdb.moves m set state = 'done', ended_at = ragdb_internal.now()
    where m.move_id = v_move.move_id and m.direction = 'in';
  delete from ragdb.move_documents m where m.corpus_id = v_id;
end $$;
comment on function ragdb.open_move is
  'Opens a corpus that has arrived, by the proof that it is closed where it was, to all who have '
  'rights to it. Raises RG457.';

-- Not before it is open: those who wait for the corpus do not wait for its events too.
create or replace function ragdb.announce_move(move_id uuid, count integer default 1000)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_move constant ragdb.moves := ragdb_internal.take_move(announce_move.move_id, 'in');
  v_corpus ragdb.corpora;
  v_numbers integer[];
begin
  perform ragdb_internal.check_move_state(v_move, '{done}'),
    ragdb_internal.check_page(0, announce_move.count);
  v_corpus := ragdb_internal.corpus_row(v_move.corpus_id);
  if v_corpus.corpus_id is null then
    perform ragdb_internal.refuse_move(
      format('corpus %s has arrived, and was dropped since', ragdb_internal.quote(v_move.corpus)),
      'what it had left of it at ' || ragdb_internal.quote(v_move.peer) || ' is closed',
      'ragdb.leave_move(id, reopen => true) opens that again');
  end if;
  v_corpus := ragdb_internal.lock_opened(v_corpus);
  v_numbers := array(
    select d.doc_no from ragdb.documents d
    where d.corpus_id = v_corpus.corpus_id
      and d.event_id = '00000000-0000-0000-0000-000000000000'
    order by d.doc_no limit announce_move.count);
  perform ragdb_internal.write_events(v_corpus, v_numbers);
  return cardinality(v_numbers);
end $$;
comment on function ragdb.announce_move is
  'Writes the events of up to count (1 to 1000) documents of a corpus that has arrived and that '
  'none tells of yet, and returns how many. Raises RG400, RG404, RG457.';
