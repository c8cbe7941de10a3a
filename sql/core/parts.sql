-- Corpora opened with their parts, and the part that has a chunk.

-- Says in a notice that a corpus has parts on other servers, which a call does not reach.
create or replace function ragdb_internal.say_parts_elsewhere(whole ragdb.corpora) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_elsewhere integer;
begin
  select count(*) into v_elsewhere
    from ragdb.parts_elsewhere e where e.corpus_id = whole.corpus_id;
  if v_elsewhere > 0 then
    raise notice 'corpus % has % of its parts on other servers', ragdb_internal.quote(whole.name),
        v_elsewhere
      using errcode = '01R01', -- who asks all servers knows it by this
        detail = 'what this server returns is of the parts that it has',
        hint = 'ragdb.Servers in Python, and `ragdb search --server`, ask all servers';
  end if;
end $$;

-- Returns the parts of a corpus, all of which the caller must be able to read unless the call takes
-- some; it says where parts are elsewhere, unless several servers are asked. A whole is never less
-- than all of its parts: hits that somebody may not see would be missing unseen, and what is left
-- would be ranked by them all the same. Raises RG401, RG471.
create or replace function ragdb_internal.open_parts(
  whole ragdb.corpora, takes_some boolean default false, is_of_several boolean default false)
returns ragdb.corpora[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_part ragdb.corpora;
  v_parts ragdb.corpora[] := '{}';
begin
  for v_part in
    select p.* from ragdb.corpora p where p.part_of = whole.corpus_id order by p.corpus_id
  loop
    if v_part.is_restricted and ragdb_internal.privilege(v_part) = 0 then
      continue when takes_some;
      perform ragdb_internal.log_access('refused', v_part.name, 'read');
      raise exception 'corpus % has a part that role % may not read',
          ragdb_internal.quote(whole.name), ragdb_internal.quote(ragdb_internal.caller())
        using errcode = 'RG401', detail = 'a corpus is searched with all of its parts',
          hint = 'ragdb.list_parts() lists those that you may read; they can be searched by name';
    end if;
    if v_part.record_reads <> 'off' then
      perform ragdb_internal.record_read(v_part);
    end if;
    v_parts := v_parts || v_part;
  end loop;
  if not (takes_some or is_of_several) then
    perform ragdb_internal.say_parts_elsewhere(whole);
  end if;
  return v_parts;
end $$;

-- Returns the parts of a corpus that was opened to be read, or itself where it has none. Raises
-- RG401, RG471.
create or replace function ragdb_internal.parts_or_itself(
  corpus ragdb.corpora, takes_some boolean default false)
returns ragdb.corpora[]
language sql stable
return case when (corpus).parts > 0
  then ragdb_internal.open_parts(corpus, parts_or_itself.takes_some) else array[corpus] end;

-- Opens a corpus to read it, with all of its parts where it has any, and returns those instead.
-- Raises RG400, RG401, RG404, RG470, RG471.
create or replace function ragdb_internal.open_with_parts(corpus text) returns ragdb.corpora[]
language sql stable
return ragdb_internal.parts_or_itself(
  ragdb_internal.open_corpus(open_with_parts.corpus, 'read', true));

-- Returns the id of a corpus and those of all of its parts.
create or replace function ragdb_internal.with_parts(corpus_id integer) returns integer[]
language sql stable parallel safe
return array(
  select c.corpus_id from ragdb.corpora c
  where c.corpus_id = with_parts.corpus_id or c.part_of = with_parts.corpus_id
  order by c.corpus_id);

-- Opens a corpus by a right and returns its id and those of its parts; null where none is named.
-- Raises RG401, RG404, RG470, RG471.
create or replace function ragdb_internal.only_corpora(corpus text, privilege text)
returns integer[]
language sql stable
return case when corpus is not null then ragdb_internal.with_parts(
  (ragdb_internal.open_corpus(corpus, only_corpora.privilege, true)).corpus_id) end;

-- Returns the parts of a corpus, whoever may read them; itself where it has none.
create or replace function ragdb_internal.members(corpus ragdb.corpora) returns ragdb.corpora[]
language sql stable parallel safe
return case when (corpus).parts = 0 then array[corpus] else array(
  select p from ragdb.corpora p where p.part_of = (corpus).corpus_id order by p.corpus_id) end;

-- Returns the id of a corpus, or those of its parts that the caller may read. What the caller may
-- not read of a part is not there for them.
create or replace function ragdb_internal.readable_ids(corpus ragdb.corpora) returns integer[]
language sql stable parallel safe
return case when (corpus).parts = 0 then array[(corpus).corpus_id] else array(
  select p.corpus_id from ragdb.corpora p
  where p.part_of = (corpus).corpus_id
    and case when p.is_restricted then ragdb_internal.privilege(p) > 0 else true end
  order by p.corpus_id) end;

-- Returns a chunk of a corpus, or of one of its parts that the caller may read.
create or replace function ragdb_internal.chunk_of(corpus_id integer, chunk_id text)
returns setof ragdb.chunks
language sql stable parallel safe rows 1
begin atomic
  select c.* from ragdb.chunks c
    where c.corpus_id = chunk_of.corpus_id and c.chunk_id = chunk_of.chunk_id
  union all
  select c.* from ragdb.corpora p
    cross join lateral (select o.* from ragdb.chunks o
      where o.corpus_id = p.corpus_id and o.chunk_id = chunk_of.chunk_id offset 0) c
    where p.part_of = chunk_of.corpus_id
      and case when p.is_restricted then ragdb_internal.privilege(p) > 0 else true end
  limit 1;
end;

-- Says that a corpus, or the whole that it is a part of, lacks a chunk. Raises RG406.
create or replace function ragdb_internal.missing_chunk(corpus ragdb.corpora, chunk_id text)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'corpus % has no chunk %',
      ragdb_internal.quote((ragdb_internal.whole_of(corpus)).name),
      coalesce(ragdb_internal.quote(chunk_id), 'null')
    using errcode = 'RG406', detail = 'the id of a chunk changes with its text and its source',
      hint = 'ragdb.search() returns chunk ids';
end $$;

-- Opens a corpus to read a chunk of it and returns it, or that of its parts which has the chunk.
-- One that a chunk is asked of by its id is read, and no other part. Raises RG400, RG404, RG406,
-- RG470, RG471.
create or replace function ragdb_internal.open_with_chunk(corpus text, chunk_id text)
returns ragdb.corpora
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(corpus, 'read', true);
  v_part ragdb.corpora;
begin
  if v_corpus.parts = 0 then
    return v_corpus;
  end if;
  select p.* into v_part
    from ragdb_internal.chunk_of(v_corpus.corpus_id, open_with_chunk.chunk_id) c
      join ragdb.corpora p on p.corpus_id = c.corpus_id;
  if not found then
    perform ragdb_internal.missing_chunk(v_corpus, chunk_id);
  elsif v_part.record_reads <> 'off' then
    perform ragdb_internal.record_read(v_part);
  end if;
  return v_part;
end $$;

-- Returns the row of a chunk of one of some corpora. Raises RG406.
create or replace function ragdb_internal.chunk(corpora ragdb.corpora[], chunk_id text)
returns ragdb.chunks
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_chunk ragdb.chunks;
begin
  select c.* into v_chunk
    from unnest(corpora) o cross join lateral (
      select k.* from ragdb.chunks k
      where k.corpus_id = o.corpus_id and k.chunk_id = chunk.chunk_id offset 0) c
    limit 1;
  if not found then
    perform ragdb_internal.missing_chunk(corpora[1], chunk_id);
  end if;
  return v_chunk;
end $$;
