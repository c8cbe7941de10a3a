-- Loading a static embedder: its pieces, then its binding, in one transaction.

-- Refuses to load pieces into an embedder that is bound, or that promises what a static one does
-- not have. Raises RG409, RG417.
create or replace function ragdb_internal.check_loadable(embedder ragdb.embedders) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if embedder.provider is not null then
    raise exception 'embedder % is bound to %', ragdb_internal.quote(embedder.name),
        embedder.provider
      using errcode = 'RG409', detail = 'the pieces of an embedder never change, because vectors '
              'rest on them',
            hint = 'load under another name and move the corpus with ragdb.reembed_corpus()';
  elsif embedder.metric <> 'cosine' or embedder.query_prefix || embedder.passage_prefix <> '' then
    raise exception 'embedder % cannot be static', ragdb_internal.quote(embedder.name)
      using errcode = 'RG417', detail = 'a static embedder has metric cosine and no prefixes',
            hint = 'create it with its name, its dimensions and nothing else';
  end if;
end $$;

-- Refuses pieces without a rank and a vector each, and such as are there. Raises RG409, RG417,
-- RG418.
create or replace function ragdb_internal.check_pieces(
  embedder ragdb.embedders, pieces text[], ranks integer[], vectors real[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  perform ragdb_internal.check_loadable(embedder);
  if pieces is null or cardinality(ranks) is distinct from cardinality(pieces)
    or cardinality(vectors) is distinct from cardinality(pieces) * embedder.dims
    or array_position(pieces, null) is not null or array_position(ranks, null) is not null
    or (511 >= all (vectors) and -511 <= all (vectors)) is not true
  then
    raise exception 'pieces of embedder % are not as they must be',
        ragdb_internal.quote(embedder.name)
      using errcode = 'RG418',
            detail = format('each has a rank and %s numbers from -511 to 511', embedder.dims),
            hint = 'ragdb embedder export-sql writes them so';
  elsif exists (select from unnest(pieces) u (piece)
      join ragdb.static_pieces p on p.embedder_id = check_pieces.embedder.embedder_id
        and p.piece = u.piece)
    or cardinality(pieces) <>
      (select count(distinct u.piece collate "C") from unnest(pieces) u (piece))
  then
    raise exception 'a piece of embedder % is there already', ragdb_internal.quote(embedder.name)
      using errcode = 'RG409', detail = 'every piece is put once',
            hint = 'load under another name, or all in one transaction';
  end if;
end $$;

-- In SQL, because PL/pgSQL copies an array for each part that is taken of it.
create or replace function ragdb.put_static_pieces(
  embedder text, pieces text[], ranks integer[], vectors real[])
returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select ragdb_internal.hold_embedder(put_static_pieces.embedder);
  select ragdb_internal.check_pieces(ragdb_internal.embedder(put_static_pieces.embedder),
    put_static_pieces.pieces, put_static_pieces.ranks, put_static_pieces.vectors);
  with put as (
    insert into ragdb.static_pieces (embedder_id, piece, rank, embedding)
      select e.embedder_id, p.piece, p.rank, v.embedding::halfvec
      from ragdb_internal.embedder(put_static_pieces.embedder) e
        cross join lateral ragdb_internal.cut(put_static_pieces.vectors, e.dims) v
        join lateral rows from (
          unnest(put_static_pieces.pieces), unnest(put_static_pieces.ranks))
          with ordinality p (piece, rank, n) on p.n = v.n
      returning embedder_id)
  select count(*) from put;
end;
comment on function ragdb.put_static_pieces is
  'Puts pieces of a static embedder that is not bound yet, each with its rank and as many whole '
  'numbers from -511 to 511 as the embedder has dimensions, one vector behind the other, and '
  'returns how many. A piece that begins words begins with a space; the empty one is what a text '
  'without known words gets. Raises RG409, RG416, RG417, RG418.';

-- Returns the SHA-256 (hex) over all pieces of a static embedder in the order of their bytes: the
-- length of each and its rank as 4 bytes, its vector as pgvector sends it.
create or replace function ragdb_internal.pieces_digest(embedder_id integer) returns text
language sql stable parallel safe
return (
  select pg_catalog.encode(pg_catalog.sha256(pg_catalog.string_agg(
    pg_catalog.int4send(pg_catalog.octet_length(p.piece))
      || pg_catalog.convert_to(p.piece, 'UTF8') || pg_catalog.int4send(p.rank)
      || halfvec_send(p.embedding), '' order by p.piece)), 'hex')
  from ragdb.static_pieces p where p.embedder_id = pieces_digest.embedder_id);

-- Tells whether all vectors of a static embedder come back when a vector of 1536s is added and
-- taken off again: then their numbers are whole. Half precision has no fractions from 1024 to 2047.
create or replace function ragdb_internal.are_whole(embedder_id integer, large vector)
returns boolean
language sql stable parallel safe
return (
  select coalesce(bool_and((p.embedding + l.large) - l.large = p.embedding), true)
  from (select are_whole.large::halfvec as large offset 0) l cross join ragdb.static_pieces p
  where p.embedder_id = are_whole.embedder_id);

-- Tells whether no piece of two characters or more of a static embedder has a digit.
create or replace function ragdb_internal.splits_digits(embedder_id integer) returns boolean
language sql stable parallel safe
return not exists (
  select from ragdb.static_pieces p
  where p.embedder_id = splits_digits.embedder_id and p.piece ~ '.[0-9]|[0-9].');

-- Refuses pieces that are not those of a digest, whose numbers are not whole, or that lack the
-- empty one. Raises RG417, RG418.
create or replace function ragdb_internal.check_bound(embedder ragdb.embedders, digest text)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_digest constant text := ragdb_internal.pieces_digest(embedder.embedder_id);
begin
  if v_digest is null or v_digest is distinct from digest then
    raise exception 'the pieces of embedder % are not those of the digest',
        ragdb_internal.quote(embedder.name)
      using errcode = 'RG417',
            detail = format('they have %s, not %s', coalesce(v_digest, 'none'), digest),
            hint = 'roll back and load them again, all of them';
  elsif not ragdb_internal.are_whole(embedder.embedder_id,
    ragdb_internal.pgvector(array_fill(1536::real, array[embedder.dims])))
  then
    raise exception 'pieces of embedder % are not as they must be',
        ragdb_internal.quote(embedder.name)
      using errcode = 'RG418', detail = 'their numbers are whole ones',
            hint = 'ragdb embedder export-sql writes them so';
  elsif ragdb_internal.unknown_text(embedder.embedder_id) is null then
    raise exception 'embedder % has no empty piece', ragdb_internal.quote(embedder.name)
      using errcode = 'RG418', detail = 'it is what a text without known words gets',
            hint = 'put the piece '''' with a vector that is not zero';
  end if;
end $$;

create or replace function ragdb.bind_static(
  embedder text, tokenizer text, folding text, digest text, lexical_weight float8 default 0.75)
returns ragdb.embedders
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb_internal.hold_embedder(embedder);
begin
  perform ragdb_internal.check_loadable(v_embedder);
  if tokenizer is null or tokenizer not in ('bpe', 'wordpiece', 'unigram') or folding is null
    or folding not in ('none', 'case', 'accents')
    or lexical_weight is null or not lexical_weight between 0 and 1
  then
    raise exception 'tokenizer is %, folding % and lexical_weight %',
        ragdb_internal.quote(tokenizer), ragdb_internal.quote(folding),
        coalesce(lexical_weight::text, 'null')
      using errcode = 'RG400', detail = 'they say how texts become pieces and how legs are joined',
            hint = 'tokenizer bpe, wordpiece or unigram; folding none, case or accents; '
                   'lexical_weight from 0 to 1';
  end if;
  perform ragdb_internal.check_bound(v_embedder, digest);
  insert into ragdb.static_models
    select v_embedder.embedder_id, tokenizer, folding, greatest(max(length(p.piece)), 1),
      ragdb_internal.splits_digits(v_embedder.embedder_id), count(*), digest, lexical_weight
    from ragdb.static_pieces p where p.embedder_id = v_embedder.embedder_id;
  update ragdb.embedders e set provider = 'static', provider_model = 'static-v2'
    where e.embedder_id = v_embedder.embedder_id
    returning e.* into v_embedder;
  perform ragdb_internal.record_state('embedder', null, v_embedder.name);
  return v_embedder;
end $$;
comment on function ragdb.bind_static is
  'Ends the loading of a static embedder: from now on it runs inside the database. tokenizer is '
  'bpe, wordpiece or unigram, folding none, case or accents, digest that of all pieces (64 hex '
  'digits), lexical_weight (0 to 1) the share of the lexical leg in a hybrid search. Raises RG400, '
  'RG409, RG416, RG417, RG418.';

create or replace function ragdb.set_default_embedder(embedder text default null) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if embedder is null then
    delete from ragdb.settings s where s.key = 'default_embedder';
    return;
  end if;
  if (ragdb_internal.static_model((ragdb_internal.embedder(embedder)).embedder_id)).embedder_id
    is null
  then
    raise exception 'embedder % does not run inside the database', ragdb_internal.quote(embedder)
      using errcode = 'RG416', detail = 'only a static embedder can be the default',
            hint = 'ragdb embedder load loads one';
  end if;
  insert into ragdb.settings as s (key, value) values ('default_embedder', to_jsonb(embedder))
    on conflict on constraint settings_key_is_unique do update set value = excluded.value;
end $$;
comment on function ragdb.set_default_embedder is
  'Makes a static embedder the one that new corpora get; null: they get none. Raises RG416.';

create or replace function ragdb.list_static_models()
returns table (embedder text, tokenizer text, folding text, pieces integer, digest text,
  lexical_weight float8, is_default boolean)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select e.name, m.tokenizer, m.folding, m.pieces, m.digest, m.lexical_weight,
    m.embedder_id is not distinct from ragdb_internal.default_embedder()
  from ragdb.static_models m join ragdb.embedders e on e.embedder_id = m.embedder_id
  order by e.name;
end;
comment on function ragdb.list_static_models is
  'Lists the embedders that run inside the database: how they cut words, their pieces, the '
  'digest, and which one new corpora get.';
