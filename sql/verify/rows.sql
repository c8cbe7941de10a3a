-- Chunks, turns, documents, rows of the past, slices and policies, each against its hash or
-- against what it rests on.

-- Returns how many chunks before one in its document have its content.
create or replace function ragdb_internal.twins_before(chunk ragdb.chunks) returns bigint
language sql stable parallel safe
return (
  select count(*) from ragdb.chunks c
    where c.corpus_id = (chunk).corpus_id and c.doc_no = (chunk).doc_no
      and c.ordinal < (chunk).ordinal and c.content_hash = (chunk).content_hash);

-- Tells whether the id of a chunk is the one that its corpus, its source and its text make, or that
-- the id of its document makes where that has one, or whether it is a turn. Turns are named by
-- whoever put them, and chunks of a document with an id of its own by that. Few chunks say what one
-- before them in their document says, so those before are counted last. It has no query of its own,
-- so that it becomes part of the query that asks.
create or replace function ragdb_internal.is_named_by_text(
  chunk ragdb.chunks, document ragdb.documents, corpus text)
returns boolean
language sql stable parallel safe
return case
  when ragdb_internal.has_turns((document).chunking)
    then ragdb_internal.is_turn((chunk).corpus_id, (chunk).chunk_no)
  when (document).external_id is not null then ragdb_internal.chunk_name(
    null, (document).external_id, (document).chunks, (chunk).ordinal, null, null, null, null)
    = (chunk).chunk_id
  when ragdb_internal.chunk_id(
      ragdb_internal.source_slug((document).source_name, (document).source),
      ragdb_internal.source_bytes(
        is_named_by_text.corpus, (document).source_name, (document).source),
      (chunk).content_hash, 0) = (chunk).chunk_id then true
  else ragdb_internal.chunk_id(
    ragdb_internal.source_slug((document).source_name, (document).source),
    ragdb_internal.source_bytes(
      is_named_by_text.corpus, (document).source_name, (document).source),
    (chunk).content_hash, ragdb_internal.twins_before(chunk))
    = (chunk).chunk_id end;

-- Compares a batch of chunks with their hashes, their ids and the sources of their documents.
create or replace function ragdb_internal.verify_chunks(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return ragdb_internal.verified_rows('chunks', array(
    select row(jsonb_build_array(c.corpus_id, c.chunk_no),
        format('chunk %s of corpus %s', c.chunk_id, coalesce(p.name, c.corpus_id::text)),
        case
          when c.content_hash <> ragdb_internal.content_hash(c.text)
            then 'its text is not the text that was put'
          when ragdb_internal.is_named_by_text(c, d, p.whole) is not true
            then 'its text is not the text that its id was made of'
          when c.source <> d.source then 'its source is not that of its document'
        end)::ragdb_internal.checked_row
      from ragdb.chunks c
        left join (
          select o.corpus_id, o.name, (ragdb_internal.whole_of(o)).name as whole
          from ragdb.corpora o offset 0) p on p.corpus_id = c.corpus_id
        left join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no
      where (c.corpus_id, c.chunk_no)
        > (coalesce((after ->> 0)::integer, -1), coalesce((after ->> 1)::integer, -1))
      order by c.corpus_id, c.chunk_no limit most), most, 'ingest its document again');
end $$;

-- Compares a batch of turns with the ids of their chunks, and their salience with what they were
-- given. What was not given is derived of the turns around it, which come and go.
create or replace function ragdb_internal.verify_turns(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return ragdb_internal.verified_rows('turns', array(
    select row(jsonb_build_array(t.corpus_id, t.chunk_no), case when l.finding is not null
          then format('turn %s of corpus %s', coalesce(c.chunk_id, t.chunk_no::text),
            (select c.name from ragdb.corpora c where c.corpus_id = t.corpus_id)) end,
        l.finding)::ragdb_internal.checked_row
      from ragdb.turns t
        left join lateral (
          select h.chunk_id from ragdb.chunks h
          where h.corpus_id = t.corpus_id and h.chunk_no = t.chunk_no offset 0) c on true
        cross join lateral (
          select case when t.given -> 'salience' is not null and t.salience
                <> ragdb_internal.turn_salience(t.given, false, 0, 0)::real
              then 'its salience is not the one that was given'
            when c.chunk_id <> t.turn_id::text
              then 'its turn_id is not the id of its chunk' end as finding offset 0) l
      where (t.corpus_id, t.chunk_no)
        > (coalesce((after ->> 0)::integer, -1), coalesce((after ->> 1)::integer, -1))
      order by t.corpus_id, t.chunk_no limit most), most, 'put its conversation again');
end $$;

-- Compares the texts of a batch of rows of earlier versions with their hashes, where they are
-- chunks, and those that were erased with acts. What was not there has no content, and neither a
-- null of jsonb nor a hash says in the ledger that it had some.
create or replace function ragdb_internal.verify_history(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return ragdb_internal.verified_rows('history', array(
    select row(jsonb_build_array(p.corpus_id, p.kind, p.key, p.until),
        format('%s %s of corpus %s until version %s', p.kind, case p.kind
            when 'chunk' then coalesce(p.was ->> 'chunk_id', 'number ' || p.key) else p.key end,
          (select c.name from ragdb.corpora c where c.corpus_id = p.corpus_id), p.until),
        case
          when jsonb_typeof(p.was) <> 'object' then 'it is not a row'
          when p.kind = 'chunk' and p.was is not null and ((p.was ->> 'content_hash')::bytea
              = ragdb_internal.content_hash(p.was ->> 'text')) is not true
            then 'its text is not the text that was there'
          when p.erased_hash is not null and not ragdb_internal.is_erased_on_record(p)
            then 'it is said to be erased, and no act says so'
        end)::ragdb_internal.checked_row
      from ragdb.past_rows p
      where (p.corpus_id, p.kind, p.key, p.until) > (
        coalesce((after ->> 0)::integer, -1), coalesce(after ->> 1, '') collate "C",
        coalesce(after ->> 2, '') collate "C", coalesce((after ->> 3)::bigint, -1))
      order by p.corpus_id, p.kind, p.key, p.until limit most), most,
    'restore it from a backup; ragdb.erase_source() takes it out of every version');
end $$;

-- Compares a batch of documents with the events that tell of them and with their chunks.
create or replace function ragdb_internal.verify_documents(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return ragdb_internal.verified_rows('documents', array(
    with page as materialized (
      select d as document, row_number() over (order by d.corpus_id, d.doc_no) as nth
      from ragdb.documents d
      where (d.corpus_id, d.doc_no)
        > (coalesce((after ->> 0)::integer, -1), coalesce((after ->> 1)::integer, -1))
      order by d.corpus_id, d.doc_no limit most
    )
    select row(jsonb_build_array(d.corpus_id, d.doc_no),
        format('document %s of corpus %s', d.source, coalesce(p.name, d.corpus_id::text)),
        case
          when e.event_id is null then 'the event that tells of it is gone'
          when (d.doc_cid, d.source, d.title, d.language, d.chunks) is distinct from
                (e.doc_cid, e.source, e.title, e.language, e.chunks)
              or ragdb_internal.document_hash(g.document, f.sources) <> e.document_hash
            then 'it is not what its event tells of it'
          when e.lamport < (select max(o.lamport) from ragdb.events o
              where o.corpus_id = d.corpus_id and o.source = d.source)
            then 'a later event tells of it'
          when ragdb_internal.is_deleted_on_record(d.corpus_id, d.event_id)
            then 'an act says that it was deleted'
          when d.chunks <> (select count(*) from ragdb.chunks c
              where c.corpus_id = d.corpus_id and c.doc_no = d.doc_no)
            then 'it has more or fewer chunks than were stored'
          when h.hash <> e.chunks_hash
            then 'what its event tells of its chunks (place, citation, speaker, links) is not so'
        end)::ragdb_internal.checked_row
      from page g
        cross join lateral (select (g.document).*) d
        cross join lateral ragdb_internal.found_at(d.corpus_id, d.doc_no) f
        join unnest(ragdb_internal.chunks_hashes(array(
          select row((o.document).corpus_id, (o.document).doc_no, 0, null)
            ::ragdb_internal.chunk_chain from page o order by o.nth)))
          with ordinality h (hash, nth) on h.nth = g.nth
        left join ragdb.corpora p on p.corpus_id = d.corpus_id
        left join ragdb.events e on e.corpus_id = d.corpus_id and e.event_id = d.event_id
      order by g.nth), most, 'restore both from a backup, or ingest it again with --force');
end $$;

-- Recomputes the snapshot hash of a batch of stored slices from their rows. Whether the corpus
-- still says the same is what ragdb.verify_token tells.
create or replace function ragdb_internal.verify_slices(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return ragdb_internal.verified_rows('slices', array(
    select row(jsonb_build_array(s.corpus_id, s.slice_id), 'slice ' || s.slice_id,
        case when s.graph_snapshot_hash <> ragdb_internal.snapshot_hash((
              select string_agg(ragdb_internal.packed_member(
                  coalesce(ragdb_internal.packed(m.id), E'\\xffffffff'), m.hash), '' order by m.n)
              from unnest(s.chunk_ids, s.content_hashes) with ordinality m (id, hash, n)),
              s.edge_count, s.schema_version)
            or s.chunk_ids <> array(
              select o.id collate "C" from unnest(s.selection_order) o (id) order by 1)
          then 'its members are not those of its fingerprint' end)::ragdb_internal.checked_row
      from ragdb.slices s
      where (s.corpus_id, s.slice_id)
        > (coalesce((after ->> 0)::integer, -1), coalesce(after ->> 1, '') collate "C")
      order by s.corpus_id, s.slice_id limit most), most, 'build the slice again');
end $$;

-- Compares the registered policies with their hashes.
create or replace function ragdb_internal.verify_policies(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return (
  select row(count(*), null, coalesce(pg_catalog.array_agg(row('policies', 'error',
      'policy ' || p.policy_id || '@' || p.params_hash, 'its row was changed',
      'restore it from a backup')::ragdb.finding order by p.policy_id, p.params_hash)
    filter (where (h.policy_id, h.params_hash, h.canonical, h.sha256)
      is distinct from (p.policy_id, p.params_hash, p.canonical, p.sha256)), '{}'))
      ::ragdb_internal.verified
    from ragdb.slice_policies p cross join lateral ragdb_internal.hashed_policy(p.policy) h);
