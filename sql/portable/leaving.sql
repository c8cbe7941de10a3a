-- A corpus that leaves: it stays open to who searches and who writes, and what is written is noted
-- and goes along in a later page. Only for the last pages are its writers held.

-- Refuses a corpus that does not move. Raises RG457.
create or replace function ragdb_internal.check_may_leave(corpus ragdb.corpora) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_why constant text := case
    when corpus.name in ('personal', 'system') then 'it belongs to one role, or comes with ragdb'
    when corpus.part_of is not null then 'it is a part, and its whole is here'
    when corpus.moving is not null then 'it moves already'
    when exists (select from ragdb.shared_corpora s where s.corpus_id = corpus.corpus_id)
      then 'it is shared with peers from here' end;
begin
  if v_why is not null then
    perform ragdb_internal.refuse_move(
      format('corpus %s cannot move', ragdb_internal.quote(corpus.name)), v_why,
      case when corpus.moving is not null
        then 'carry that move on with its id, or give it up with ragdb.leave_move()'
        else '`ragdb export` and `ragdb import` make a copy of a corpus' end);
  end if;
end $$;

create or replace function ragdb.begin_move(
  corpus text, destination text, longest interval default '10 seconds')
returns table (move_id uuid, header jsonb)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(corpus, 'admin');
  v_space ragdb.embedding_spaces;
  v_receipt constant bytea := sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
  v_id constant uuid := gen_random_uuid();
  v_header jsonb;
begin
  perform ragdb_internal.check_may_leave(v_corpus), ragdb_internal.hold_writers(v_corpus, longest);
  v_corpus := ragdb_internal.open_again(ragdb_internal.lock_opened(v_corpus), 'admin');
  v_space := ragdb_internal.space(v_corpus.corpus_id, 'current');
  perform ragdb_internal.check_may_leave(v_corpus);
  if destination is null or length(destination) not between 1 and 500 then
    raise exception 'destination is not 1 to 500 characters'
      using errcode = 'RG400', detail = 'whoever asks for the corpus here is told it',
        hint = 'pass the address of the other database, without a password';
  end if;
  v_header := jsonb_build_object(
    'format', ragdb_internal.export_format(), 'move', v_id,
    'version', ragdb_internal.schema_stamp(),
    'corpus', ragdb_internal.exported_settings(v_corpus) || jsonb_build_object(
      'name', v_corpus.name, 'is_restricted', v_corpus.is_restricted),
    'embedder', ragdb_internal.exported_embedder(v_space)
      || ragdb_internal.exported_provider(v_space),
    'rights', ragdb_internal.moved_rights(v_corpus),
    'receipt', encode(sha256(v_receipt), 'hex'), 'counts', '{}'::jsonb, 'digest', '');
  update ragdb.corpora c set moving = 'leaving' where c.corpus_id = v_corpus.corpus_id;
  insert into ragdb.moves (move_id, direction, corpus_id, corpus, peer, state, begun_at, begun_by,
      header, receipt)
    values (v_id, 'out', v_corpus.corpus_id, v_corpus.name, destination, 'copying',
      ragdb_internal.now(), ragdb_internal.caller(), v_header, v_receipt);
  perform ragdb_internal.record_access('export', v_corpus.corpus_id, v_corpus.name,
    'move to ' || ragdb_internal.quote(destination));
  return query select v_id, v_header;
end $$;
comment on function ragdb.begin_move is
  'Begins to move a corpus to another database and returns the id of the move and the header that '
  'ragdb.accept_move takes there. The corpus stays as open as it is; what is written is noted. '
  'destination, up to 500 characters, is where who asks for it later is sent. It waits for writers '
  'of the corpus, at most longest (10 ms to 1 hour). Raises RG400, RG401, RG404, RG438, RG457, '
  'RG458.';

-- Forgets what the last page brought to the other side.
create or replace function ragdb_internal.acknowledge_page(move ragdb.moves) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if move.page_to is not null then
    update ragdb.moves m set walked_to = move.page_to
      where m.move_id = move.move_id and m.direction = 'out';
  end if;
  delete from ragdb.move_changes c
    where c.corpus_id = move.corpus_id and c.key = any (move.page_keys)
      and c.version <= move.page_version;
end $$;

-- Returns the next keys of what changed in a corpus up to a version, of documents with together
-- about count chunks.
create or replace function ragdb_internal.next_changes(
  corpus_id integer, version bigint, count integer)
returns text[]
language sql stable parallel safe
return array(
  select n.key from (
    select k.key, sum(greatest(coalesce(d.chunks, 0), 1)) over (order by k.key)
      - greatest(coalesce(d.chunks, 0), 1) as before
    from (
      select distinct c.key from ragdb.move_changes c
      where c.corpus_id = next_changes.corpus_id and c.version <= next_changes.version
      order by c.key limit next_changes.count) k
      left join ragdb.documents d on d.corpus_id = next_changes.corpus_id
        and d.doc_no = case when k.key like 'd %' then pg_catalog.substr(k.key, 3)::integer end) n
  where n.before < next_changes.count order by n.key);

-- Decides which documents are in the next page of a move: the next of the first copy, then those
-- that have changed.
create or replace function ragdb_internal.make_page(move ragdb.moves, count integer)
returns ragdb.moves
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_version constant bigint := (ragdb_internal.corpus_row(move.corpus_id)).version;
  v_walked integer[] := '{}';
  v_keys text[];
begin
  if not move.is_walked then
    v_walked := ragdb_internal.next_documents(move.corpus_id, move.walked_to, count);
  end if;
  v_keys := case when cardinality(v_walked) > 0
    then array(select 'd ' || w from unnest(v_walked) w)
    else ragdb_internal.next_changes(move.corpus_id, v_version, count) end;
  update ragdb.moves m
    set page_no = m.page_no + 1, page_keys = v_keys, page_version = v_version,
      page_to = (select max(w) from unnest(v_walked) w),
      is_walked = m.is_walked or cardinality(v_walked) = 0
    where m.move_id = move.move_id and m.direction = 'out'
    returning m.* into move;
  return move;
end $$;

-- Returns the documents of a page as they are now, those that are gone, and the sources that are
-- gone; keeps their hashes.
create or replace function ragdb_internal.page_rows(move ragdb.moves)
returns table (number integer, source text, hash bytea, document text, uris text[],
  ordinals integer[], embeddings bytea)
language plpgsql
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_id constant integer := move.corpus_id;
  v_space constant integer := (ragdb_internal.space(v_id, 'current')).space_id;
begin
  return query
    with sent as (
      select k.no, d.source,
        ragdb_internal.moved_hash(j.document, e.ordinals, e.embeddings) as hash,
        j.document::text as document, e.ordinals, e.embeddings, array(
          select s.uri from ragdb.document_sources s
          where s.corpus_id = v_id and s.doc_no = d.doc_no order by s.uri) as uris
      from (
        select substr(p.key, 3)::integer as no from unnest(move.page_keys) p (key)
        where p.key like 'd %') k
        left join ragdb.documents d on d.corpus_id = v_id and d.doc_no = k.no
        left join lateral (
          select ragdb_internal.moved_document(v_id, d.doc_no) as document offset 0) j on true
        left join lateral ragdb_internal.moved_embeddings(v_id, d.doc_no, v_space) e on true
    ), kept as (
      insert into ragdb.move_documents as m (corpus_id, number, source, hash)
        select v_id, s.no, s.source, s.hash from sent s where s.source is not null
        on conflict on constraint move_documents_are_unique do update
          set source = excluded.source, hash = excluded.hash
    ), gone as (
      delete from ragdb.move_documents m using sent s
        where m.corpus_id = v_id and m.number = s.no and s.source is null
    )
    select s.no, s.source, case when s.source is not null then s.hash end, s.document, s.uris,
      s.ordinals, s.embeddings
    from sent s
    union all
    -- there too where none of them is gone, for the page is not empty
    select null, null, null, null, coalesce(array_agg(substr(p.key, 3)) filter (where not exists (
        select from ragdb.document_sources s
        where s.corpus_id = v_id and s.uri = substr(p.key, 3))), '{}'), null, null
    from unnest(move.page_keys) p (key) where p.key like 's %'
    having count(*) > 0;
end $$;
