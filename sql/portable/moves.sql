-- Moves of corpora between databases. A courier, which holds a connection to each side and no
-- logic, carries pages of documents as exports have them from one to the other, first all and then
-- what has changed since, until little is left; then the writers are held for the rest, both sides
-- compare their digests, the corpus is closed where it was and opened where it is. This file has
-- what both sides share.
--
-- Nothing is lost whenever the courier dies. What was noted as changed is forgotten only when the
-- other side has it; the writers are held by a lock, which ends with its transaction; and the side
-- that arrives opens by a proof that the other shows once it is closed.

-- Raises RG457, saying why a corpus does not move.
create or replace function ragdb_internal.refuse_move(problem text, details text, advice text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception '%', problem using errcode = 'RG457', detail = details, hint = advice;
end $$;

-- Raises RG457, saying what is wrong with what a courier brought.
create or replace function ragdb_internal.refuse_what_came(problem text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.refuse_move(
    'what came is not what the other side of a move gives', refuse_what_came.problem,
    'pass what its functions return, as they return it; or give the move up with '
      'ragdb.leave_move()');
end $$;

-- Returns the version and build of the schema, as the installer left it.
create or replace function ragdb_internal.schema_stamp() returns text
language sql stable parallel safe
return pg_catalog.obj_description('ragdb'::regnamespace, 'pg_namespace');

-- Returns what tells two stamps apart, quoted: their ends, because both begin with the same words.
create or replace function ragdb_internal.build_of(stamp text) returns text
language sql immutable parallel safe
return ragdb_internal.quote(pg_catalog.regexp_replace(build_of.stamp, '^.*[.] ', ''));

-- Returns the row of a corpus.
create or replace function ragdb_internal.corpus_row(corpus_id integer) returns ragdb.corpora
language sql stable parallel safe
return (select c from ragdb.corpora c where c.corpus_id = corpus_row.corpus_id);

-- Locks and returns a move that is the caller's to carry on. Raises RG401, RG404, RG457.
create or replace function ragdb_internal.take_move(move_id uuid, direction text)
returns ragdb.moves
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_move ragdb.moves;
  v_is_open boolean;
begin
  select m.* into v_move from ragdb.moves m
    where m.move_id = take_move.move_id and m.direction = take_move.direction for update;
  v_is_open := direction = 'out'
    and exists (select from ragdb.corpora c where c.corpus_id = v_move.corpus_id);
  -- one that arrives, and one that was dropped here, is nobody's but whose who brings it
  if v_move.move_id is null or not v_is_open
      and v_move.begun_by <> ragdb_internal.caller()
      and not pg_has_role(ragdb_internal.caller(), 'ragdb_admin', 'usage')
      and not pg_has_role(ragdb_internal.caller(), 'ragdb_owner', 'usage') then
    perform ragdb_internal.refuse_move(
      format('there is no move %s %s this database', coalesce(move_id::text, 'null'),
        case direction when 'in' then 'into' else 'out of' end),
      'its id is that of another move, or it is another role''s', 'ragdb.list_moves() lists them');
  end if;
  if v_is_open then
    perform ragdb_internal.open_corpus(v_move.corpus, 'admin', false, true);
  end if;
  return v_move;
end $$;

-- Refuses a move that is in none of some states. Raises RG457.
create or replace function ragdb_internal.check_move_state(move ragdb.moves, states text[])
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if move.state <> all (states) then
    perform ragdb_internal.refuse_move(
      format('the move of corpus %s is %s', ragdb_internal.quote(move.corpus), move.state),
      format('what is asked for is done with one that is %s', array_to_string(states, ' or ')),
      'ragdb corpus move carries a move on from where it is');
  end if;
end $$;

-- Returns a document as it moves: as an export has it, with the roots of its sources. As it is
-- exported, and where each source was brought from: without that a source that is gone from its
-- folder would stay. Its plan is kept for the next document.
create or replace function ragdb_internal.moved_document(corpus_id integer, doc_no integer)
returns jsonb
language sql stable parallel safe
set plan_cache_mode = force_generic_plan
return ragdb_internal.exported_document(moved_document.corpus_id, moved_document.doc_no)
  || (select pg_catalog.jsonb_build_object('sources', pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object('uri', s.uri, 'source_name', s.source_name, 'etag', s.etag,
          'root', s.root) order by s.uri))
      from ragdb.document_sources s
      where s.corpus_id = moved_document.corpus_id and s.doc_no = moved_document.doc_no);

-- Returns the embeddings of the chunks of a document in a space, one behind the other, and the
-- places of these chunks; nulls where there are none.
create or replace function ragdb_internal.moved_embeddings(
  corpus_id integer, doc_no integer, space_id integer)
returns table (ordinals integer[], embeddings bytea)
language sql stable parallel safe rows 1
begin atomic
  select array_agg(c.ordinal order by c.ordinal),
    string_agg(ragdb_internal.embedding_bytes(e), '' order by c.ordinal)
  from ragdb.chunks c
    join ragdb.chunk_embeddings e on e.space_id = moved_embeddings.space_id
      and e.corpus_id = c.corpus_id and e.chunk_no = c.chunk_no
  where c.corpus_id = moved_embeddings.corpus_id and c.doc_no = moved_embeddings.doc_no;
end;

-- Returns the SHA-256 of a document as it moves, with its embeddings.
create or replace function ragdb_internal.moved_hash(
  document jsonb, ordinals integer[], embeddings bytea)
returns bytea
language sql stable parallel safe
return pg_catalog.sha256(ragdb_internal.packed(moved_hash.document::text)
  || ragdb_internal.packed(coalesce(moved_hash.ordinals::text, ''))
  || ragdb_internal.packed(coalesce(moved_hash.embeddings, '')));

-- Returns the rights to a corpus as they move: by the names of roles.
create or replace function ragdb_internal.moved_rights(corpus ragdb.corpora) returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_build_object(
  'is_restricted', (corpus).is_restricted, 'record_reads', (corpus).record_reads,
  'grants', (
    select coalesce(pg_catalog.jsonb_object_agg(g.role, g.privilege), '{}')
    from ragdb.corpus_grants g
    where g.corpus_id = (corpus).corpus_id and ragdb_internal.is_role(g.role, g.role_oid)));

-- Returns what both sides of a move must agree on. Of each document the hash that was taken when it
-- left, which the other side has found again: to hash all of them while writers wait would take too
-- long.
create or replace function ragdb_internal.corpus_digest(corpus ragdb.corpora) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_id constant integer := corpus.corpus_id;
begin
  return jsonb_build_object(
    'settings', ragdb_internal.exported_settings(corpus),
    'history', corpus.history,
    'lamport', corpus.lamport,
    'embedder', ragdb_internal.exported_embedder(ragdb_internal.space(v_id, 'current')),
    'rights', ragdb_internal.moved_rights(corpus),
    'synonyms', (
      select coalesce(jsonb_agg(jsonb_build_array(s.word, s.means) order by s.word, s.means), '[]')
      from ragdb.synonyms s where s.corpus_id = v_id),
    'counts', jsonb_build_object('documents', corpus.documents, 'chunks', corpus.chunks,
      'lexemes', corpus.lexeme_count, 'tokens', corpus.token_count, 'bytes', corpus.size_bytes,
      'languages', corpus.languages),
    'originals', (
      select encode(sha256(convert_to(coalesce(string_agg(b.cid, ' ' order by b.cid), ''),
        'UTF8')), 'hex')
      from ragdb.corpus_blobs b where b.corpus_id = v_id),
    'documents', (
      select encode(sha256(coalesce(string_agg(int4send(m.number) || m.hash, ''
        order by m.number), '')), 'hex')
      from ragdb.move_documents m where m.corpus_id = v_id));
end $$;

-- Locks out the writers of a corpus until the transaction ends, after waiting for them for at most
-- some time (10 ms to 1 hour), after which a silent session ends, too. A lock and not a state: it
-- ends with its transaction, whatever becomes of the courier. A writer waits for it, and whoever
-- searches does not. It stands behind the writers that came before, and others behind it, for no
-- longer than it may be held. Raises RG400, RG458.
create or replace function ragdb_internal.hold_writers(corpus ragdb.corpora, longest interval)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ms text;
begin
  if longest is null or longest not between interval '10 ms' and interval '1 hour' then
    raise exception 'longest is %', coalesce(longest::text, 'null')
      using errcode = 'RG400', detail = 'writers wait for no longer than that',
        hint = 'pass an interval from 10 milliseconds to 1 hour';
  end if;
  -- not before: an infinite one has no number of milliseconds
  v_ms := ceil(extract(epoch from longest) * 1000)::bigint || 'ms';
  perform set_config('lock_timeout', v_ms, true),
    set_config('idle_in_transaction_session_timeout', v_ms, true);
  perform from ragdb.corpora c where c.corpus_id = corpus.corpus_id for no key update;
exception when lock_not_available then
  raise exception 'the writers of corpus % could not be held', ragdb_internal.quote(corpus.name)
    using errcode = 'RG458',
      detail = format('one of them has been at work for longer than %s', longest),
      hint = 'roll back, and try again when it has ended';
end $$;
