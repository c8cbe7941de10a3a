-- What a search says where it cannot compare meanings.

-- Says in a notice which of some corpora keeps the others from being searched by meaning. A corpus
-- that has no embeddings says nothing: that is how it is. Beside others it changes what these find.
create or replace function ragdb_internal.note_unfilled(corpora ragdb.corpora[]) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_unfilled constant text[] := array(
    select c.name from unnest(corpora) c where not ragdb_internal.are_filled(array[c])
    order by c.name);
  v_more constant text := array_to_string(v_unfilled[2:9], ', ');
begin
  if cardinality(v_unfilled) < cardinality(corpora) then
    raise notice 'searching by words only: corpus % is not embedded to its end, as others are',
        ragdb_internal.quote(v_unfilled[1])
      using detail = 'scores by meaning of some corpora and by words of others do not compare',
        hint = format('ragdb embed %s embeds it', v_unfilled[1]) || case when v_more = ''
          then '; or search the others without it'
          else format(', which %s need too; or search the others without them', v_more) end;
  end if;
end $$;

-- Returns in words which embedders have embedded some corpora, eight of each at most, by name; null
-- where it is one.
create or replace function ragdb_internal.several_embedders(corpora ragdb.corpora[]) returns text
language sql stable parallel safe
begin atomic
  select case when pg_catalog.count(*) > 1
    then 'the corpora have several embedders: ' || pg_catalog.string_agg(
      pg_catalog.format('%s (%s)', m.name, pg_catalog.array_to_string(m.corpora[:8], ', ')
        || case when pg_catalog.cardinality(m.corpora) > 8 then ', …' else '' end), ', '
      order by m.name) end
  from (
    select e.name, pg_catalog.array_agg(distinct c.name order by c.name) as corpora
    from pg_catalog.unnest(several_embedders.corpora) c
      join ragdb.embedders e
        on e.embedder_id = (ragdb_internal.space(c.corpus_id, 'current')).embedder_id
    group by e.name) m;
end;

-- Says that a static embedder knows too little of a query: an error where a mode was asked for,
-- else a notice. Raises RG415.
create or replace function ragdb_internal.note_unknown_words(corpus ragdb.corpora, mode text)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if mode is not null then
    raise exception 'mode % needs the embedding of the query', ragdb_internal.quote(mode)
      using errcode = 'RG415',
            detail = format('the embedder of corpus %s knows too few of its words',
              ragdb_internal.quote(corpus.name)),
            hint = 'leave mode out to search by words';
  end if;
  raise notice 'searching by words only: the embedder of corpus % knows too few words of the '
    'query', ragdb_internal.quote(corpus.name)
    using hint = 'to find by the meaning of such words, give the corpus an embedder that knows '
                 'their language: ragdb.reembed_corpus()';
end $$;

-- Says that a model outside the database has not embedded a query: an error where a mode was asked
-- for, else a notice. Raises RG415.
create or replace function ragdb_internal.note_not_kept(corpus ragdb.corpora, mode text)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if mode is not null then
    raise exception 'mode % needs the embedding of the query', ragdb_internal.quote(mode)
      using errcode = 'RG415',
            detail = format('none is given, and none is kept for it in corpus %s',
              ragdb_internal.quote(corpus.name)),
            hint = 'pass query_embedding, search by Python or the command line where the model is '
                   'installed, or have a worker make it with call ragdb.embed_query(…)';
  end if;
  raise notice 'searching by words only: corpus % has kept no embedding of the query',
      ragdb_internal.quote(corpus.name)
    using hint = 'its embedder runs outside the database: search by Python or the command line '
                 'where the model is installed, or have a worker make it with call '
                 'ragdb.embed_query(…)';
end $$;

-- Says why a search of some corpora cannot compare meanings, one of which lacks the embedding of
-- the query: an error where a mode was asked for, else a notice. Raises RG415.
create or replace function ragdb_internal.note_no_embedding(
  corpora ragdb.corpora[], corpus ragdb.corpora, space ragdb.embedding_spaces,
  request ragdb_internal.search_request)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_several constant text := ragdb_internal.several_embedders(corpora);
begin
  if ragdb_internal.words(request.query, 'simple') = '' then
    if request.mode is not null then
      raise exception 'mode % needs a query with a word', ragdb_internal.quote(request.mode)
        using errcode = 'RG415', detail = 'there is nothing to embed',
              hint = 'ask with a word';
    end if;
    -- a search that finds nothing says so
  elsif ragdb_internal.is_static(space.embedder_id) then
    perform ragdb_internal.note_unknown_words(corpus, request.mode);
  elsif v_several is null then
    perform ragdb_internal.note_not_kept(corpus, request.mode);
  elsif request.mode is not null then
    raise exception 'mode % needs the embedding of the query by each embedder, and %',
        ragdb_internal.quote(request.mode), v_several
      using errcode = 'RG415',
            detail = format('corpus %s has none', ragdb_internal.quote(corpus.name)),
            hint = 'search corpora of one embedder, give all the same with '
                   'ragdb.reembed_corpus(), or pass mode => ''lexical''';
  else
    raise notice 'searching by words only: %', v_several
      using hint = 'search corpora of one embedder, or give all the same with '
                   'ragdb.reembed_corpus()';
  end if;
end $$;
