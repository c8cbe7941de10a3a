-- A corpus that arrives: it is not there for anybody until it is opened. Each page is a
-- transaction, in which the functions of an import store what came.

-- Refuses rights of roles that do not exist. Raises RG457.
create or replace function ragdb_internal.check_roles(rights jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_missing constant text := (
    select string_agg(ragdb_internal.quote(g.role), ', ' order by g.role)
    from jsonb_object_keys(rights -> 'grants') g (role)
    where ragdb_internal.role_oid(g.role) is null);
begin
  if v_missing is not null then
    perform ragdb_internal.refuse_move(
      'roles that have rights to the corpus do not exist here', 'they are ' || v_missing,
      'create them here, or revoke their rights there with ragdb.revoke_corpus()');
  end if;
end $$;

-- Refuses a corpus whose embedder nobody runs here. Raises RG416.
create or replace function ragdb_internal.check_can_embed(header jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if header #>> '{embedder,provider}' is not null and exists (
      select from ragdb.embedders e
      where e.name = header #>> '{embedder,name}' and e.provider is null) then
    raise exception 'embedder % is not bound here',
        ragdb_internal.quote(header #>> '{embedder,name}')
      using errcode = 'RG416',
        detail = 'what is written and asked here would not be embedded as it is there',
        hint = 'bind it with ragdb.bind_embedder(), and move the corpus then';
  end if;
end $$;

create or replace function ragdb.accept_move(header jsonb, origin text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name constant text := header #>> '{corpus,name}';
  v_embedder constant jsonb := nullif(header -> 'embedder', 'null');
  v_id integer;
begin
  if header ->> 'version' is distinct from ragdb_internal.schema_stamp() then
    perform ragdb_internal.refuse_move('the other database has another version of ragdb',
      format('it has %s, and this one %s', ragdb_internal.build_of(header ->> 'version'),
        ragdb_internal.build_of(ragdb_internal.schema_stamp())),
      'bring both to one version: ragdb init');
  end if;
  perform ragdb_internal.check_roles(header -> 'rights'),
    ragdb.import_corpus(header);
  perform ragdb_internal.check_can_embed(header);
  v_id := ragdb_internal.corpus_number(v_name);
  if v_embedder is not null then
    perform ragdb.embed_corpus(v_name, v_embedder ->> 'name',
      (v_embedder ->> 'm')::numeric::integer, (v_embedder ->> 'ef_construction')::numeric::integer);
  end if;
  update ragdb.corpora c set moving = 'arriving' where c.corpus_id = v_id;
  insert into ragdb.moves (move_id, direction, corpus_id, corpus, peer, state, begun_at, begun_by,
      header, receipt)
    values ((header ->> 'move')::uuid, 'in', v_id, v_name, origin, 'copying',
      ragdb_internal.now(), ragdb_internal.caller(), header,
      decode(header ->> 'receipt', 'hex'));
exception when data_exception or integrity_constraint_violation then
  perform ragdb_internal.refuse_what_came(sqlerrm);
end $$;
comment on function ragdb.accept_move is
  'Makes a corpus that arrives from another database, origin, by the header that ragdb.begin_move '
  'returned there. Nobody sees it before ragdb.open_move. Raises RG400, RG401, RG409, RG411, '
  'RG416, RG417, RG455, RG457.';

-- Locks and returns a corpus that arrives, and opens it to this transaction. What this sets lets
-- the transaction, and no other, at the corpus. Raises RG457.
create or replace function ragdb_internal.enter_arrival(move_id uuid) returns ragdb.corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_move constant ragdb.moves := ragdb_internal.take_move(enter_arrival.move_id, 'in');
begin
  perform ragdb_internal.check_move_state(v_move, '{copying,ready}');
  update ragdb.moves m set state = 'copying'
    where m.move_id = v_move.move_id and m.direction = 'in' and m.state <> 'copying';
  update ragdb.corpora c set import_xid = pg_current_xact_id()
    where c.corpus_id = v_move.corpus_id;
  return ragdb_internal.lock_opened(ragdb_internal.corpus_row(v_move.corpus_id));
end $$;

create or replace function ragdb.receive_move(
  move_id uuid, numbers integer[] default null, sources text[] default null,
  hashes bytea[] default null, uris text[] default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.enter_arrival(receive_move.move_id);
  v_id constant integer := v_corpus.corpus_id;
  v_gone constant text[] := array(
    select s.uri from ragdb.document_sources s
    where s.corpus_id = v_id and s.uri = any (receive_move.uris));
begin
  if cardinality(sources) is distinct from cardinality(numbers)
    or cardinality(hashes) is distinct from cardinality(numbers)
  then
    raise exception 'numbers, sources and hashes are not of one length'
      using errcode = 'RG400', detail = 'they are parallel, one entry for each document',
        hint = 'pass them as ragdb.move_page() returned them';
  end if;
  -- a document that comes again comes whole
  perform ragdb_internal.write_documents(v_corpus, '[]', false, v_gone)
    where cardinality(v_gone) > 0;
  delete from ragdb.move_documents m
    where m.corpus_id = v_id and m.number = any (receive_move.numbers);
  insert into ragdb.move_documents (corpus_id, number, source, hash)
    select v_id, d.number, d.source, d.hash
    from unnest(numbers, sources, hashes) d (number, source, hash) where d.source is not null;
exception when integrity_constraint_violation then
  perform ragdb_internal.refuse_what_came(sqlerrm);
end $$;
comment on function ragdb.receive_move is
  'Opens a corpus that arrives to this transaction, in which ragdb.import_documents, '
  'ragdb.import_embeddings and ragdb.put_blob then store what came; notes the documents of a page '
  'and their hashes (null sources: gone), and takes away what is at some uris. Raises RG400, '
  'RG457.';

create or replace function ragdb.lacking_originals(move_id uuid, cids text[]) returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_move constant ragdb.moves := ragdb_internal.take_move(lacking_originals.move_id, 'in');
begin
  return query
    select c from unnest(cids) c
    where not exists (select from ragdb.corpus_blobs b
      where b.corpus_id = v_move.corpus_id and b.cid = c);
end $$;
comment on function ragdb.lacking_originals is
  'Returns those of some cids whose bytes have not come to a corpus that arrives. Raises RG457.';
