-- Search over both planes: the chunks, and what was promoted from them.
--
-- A statement is scored as a chunk is, by the same words, weights and mode, so that both planes
-- share one scale. It has no embedding: its meaning is that of the nearest chunk that it rests on.

-- A statement with its text, and the chunks that it rests on.
create type ragdb_internal.statement as (
  plane text, id uuid, text text, lexemes tsvector, source_ids text[], slice_id text,
  chunk_ids text[] collate "C");

-- Returns the atoms of a corpus, and the proposals that are not rejected, but for those whose text
-- was redacted; with a filter those of which all chunks meet it. Raises RG410.
create or replace function ragdb_internal.statements(corpus_id integer, filter jsonb)
returns ragdb_internal.statement[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_all ragdb_internal.statement[] := array(
    select row('atom', a.atom_id, a.text, a.lexemes, a.source_chunk_ids, a.source_slice_id,
      a.source_chunk_ids)::ragdb_internal.statement
    from ragdb.semantic_atoms a
    where a.corpus_id = statements.corpus_id and a.text is not null
    union all
    select row('proposal', p.proposal_id, p.text, p.lexemes, p.source_atoms::text[],
      p.source_slice_id, array(
        select distinct c.chunk_id from ragdb.semantic_atoms a
          cross join unnest(a.source_chunk_ids) c (chunk_id)
        where a.corpus_id = p.corpus_id and a.atom_id = any (p.source_atoms)))
      ::ragdb_internal.statement
    from ragdb.semantic_proposals p
    where p.corpus_id = statements.corpus_id and p.text is not null and not exists (
      select from ragdb.proposal_decisions d
      where d.corpus_id = p.corpus_id and d.proposal_id = p.proposal_id
        and d.decision = 'rejected'));
  v_chunk_nos integer[];
  v_met text[];
begin
  if filter is null or filter = '{}' then
    return v_all;
  end if;
  -- by itself: a condition would filter again for each chunk that it is asked of
  v_chunk_nos := ragdb_internal.filtered_chunks(statements.corpus_id, filter,
    array(select distinct i from unnest(v_all) s cross join unnest(s.chunk_ids) i));
  v_met := array(
    select c.chunk_id from ragdb.chunks c
    where c.corpus_id = statements.corpus_id and c.chunk_no = any (v_chunk_nos));
  -- both are hashed: to compare each list with all that met it takes the product of their lengths
  return array(
    select s from unnest(v_all) s where s.chunk_ids <> '{}' and s.id not in (
      select a.id
      from (select u.id, unnest(u.chunk_ids) as chunk_id from unnest(v_all) u) a
      where a.chunk_id not in (select m from unnest(v_met) m)));
end $$;

-- Returns the BM25 of statements over the most that the query could reach, by the statistics of
-- their corpus: for each word of the query, or what stands for it, that of the best.
create or replace function ragdb_internal.statement_words(
  corpus ragdb.corpora, statistics ragdb.corpora, query text,
  statements ragdb_internal.statement[])
returns table (id uuid, score float8)
language sql stable parallel safe
begin atomic
  with asked as materialized (
    select t.lexeme, coalesce(t.stands_for, t.lexeme) as word, t.means, t.weight,
      sum(t.weight) filter (where t.stands_for is null) over () as most
    from (select ragdb_internal.lexemes(
          statement_words.query, (corpus).text_config) as words offset 0) w
      cross join lateral ragdb_internal.query_terms(
        statement_words.corpus, statement_words.statistics, w.words,
        ragdb_internal.stand_ins(statement_words.statistics, statement_words.query, w.words,
          ragdb_internal.lacking(statement_words.statistics, w.words))) t
  )
  select b.id, sum(b.best order by b.word collate "C") / min(b.most)
  from (
      select a.id, a.word, max(a.bm25) / ((corpus).k1 + 1) as best, min(a.most) as most
      from (
          select s.id, q.word, sum(ragdb_internal.impact(pg_catalog.cardinality(w.positions),
              d.norm, (corpus).k1, q.weight) order by q.lexeme collate "C") as bm25,
            min(q.most) as most
          from pg_catalog.unnest(statement_words.statements) s
            cross join lateral (
              select ragdb_internal.length_norm(sum(pg_catalog.cardinality(l.positions)),
                (corpus).k1, (corpus).b, (corpus).pivot) as norm
              from pg_catalog.unnest(s.lexemes) l) d
            cross join lateral pg_catalog.unnest(s.lexemes) w
            join asked q on q.lexeme = w.lexeme
          group by s.id, q.word, q.means) a
      group by a.id, a.word) b
  group by b.id;
end;

-- Returns how near the nearest of the chunks is on which each statement rests. Raises RG415, RG418.
create or replace function ragdb_internal.statement_meanings(
  corpus ragdb.corpora, request ragdb_internal.search_request,
  statements ragdb_internal.statement[])
returns table (id uuid, score float8)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_chunk_ids constant text[] := array(
    select distinct i from unnest(statements) s cross join unnest(s.chunk_ids) i);
  v_near ragdb_internal.ranked[];
begin
  if v_chunk_ids = '{}' then
    return;
  end if;
  request.mode := 'semantic';
  v_near := ragdb_internal.ranked_among(array[corpus], corpus, request, v_chunk_ids);
  return query
    select s.id, max(n.score)
    from unnest(v_near) n
      join ragdb.chunks c on c.corpus_id = n.corpus_id and c.chunk_no = n.chunk_no
      join (select u.id, unnest(u.chunk_ids) as chunk_id from unnest(statements) u) s
        on s.chunk_id = c.chunk_id
    group by s.id;
end $$;

-- Returns statements with their scores over 0 in a search. In mode hybrid each plane has its own
-- ranks, where those count. Raises RG410, RG415, RG418.
create or replace function ragdb_internal.rank_statements(
  corpus ragdb.corpora, request ragdb_internal.search_request)
returns table (plane text, id uuid, text text, score float8, source_ids text[], slice_id text)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_statements constant ragdb_internal.statement[] :=
    ragdb_internal.statements(corpus.corpus_id, request.filter);
  v_weight constant float8 := coalesce(request.lexical_weight, ragdb_internal.lexical_weight(
    (ragdb_internal.space(corpus.corpus_id, 'current')).embedder_id));
  v_asked constant text[] := ragdb_internal.reference_tokens(request.query);
begin
  if v_statements = '{}' then
    return;
  end if;
  return query
    with worded as materialized (
      select w.id, w.score, (rank() over (order by w.score desc))::integer as rank
      from ragdb_internal.statement_words(corpus, ragdb_internal.whole_of(corpus),
        ragdb_internal.asked_words(request), v_statements) w
      where request.mode in ('lexical', 'hybrid')
    ), near as materialized (
      select n.id, n.score, (rank() over (order by n.score desc))::integer as rank
      from ragdb_internal.statement_meanings(corpus, request, v_statements) n
      where request.mode in ('semantic', 'hybrid')
    )
    select s.plane, s.id, s.text, r.score, s.source_ids, s.slice_id
    from unnest(v_statements) s
      left join worded w on w.id = s.id
      left join near n on n.id = s.id
      cross join lateral (
        select case request.mode when 'lexical' then w.score when 'semantic' then n.score
          when 'reference' then ragdb_internal.jaccard(
            v_asked, ragdb_internal.reference_tokens(s.text))
          else ragdb_internal.fused(request.fusion, v_weight, coalesce(w.score, 0), n.score,
            w.rank, n.rank) end as score) r
    where r.score > 0 and r.score >= request.min_score;
end $$;

-- Returns the state of an atom or a proposal.
create or replace function ragdb_internal.statement_state(
  corpus_id integer, plane text, id text, keys ragdb_internal.known_keys)
returns text
language sql stable parallel safe
return case plane
  when 'atom' then (
    select ragdb_internal.atom_state(a, statement_state.keys) from ragdb.semantic_atoms a
    where a.corpus_id = statement_state.corpus_id and a.atom_id = statement_state.id::uuid)
  when 'proposal' then (
    select ragdb_internal.proposal_state(p, statement_state.keys)
    from ragdb.semantic_proposals p
    where p.corpus_id = statement_state.corpus_id
      and p.proposal_id = statement_state.id::uuid) end;

create or replace function ragdb.search_dual(
  corpus text, query text, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, query_embedding float8[] default null,
  fusion text default 'convex', lexical_weight float8 default null)
returns table (
  rank integer, plane text, id text, text text, score float8, source_ids text[],
  source_slice_id text, state text)
language plpgsql stable parallel restricted security definer -- statements are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(search_dual.corpus, 'read');
  v_request ragdb_internal.search_request := row(search_dual.query, search_dual.k,
    search_dual.mode, search_dual.min_score, search_dual.filter, null,
    ragdb_internal.single(search_dual.query_embedding), search_dual.fusion,
    search_dual.lexical_weight, 0, 0,
    row('plain', null, false, 0, 0, false, true)::ragdb_internal.search_options, null);
begin
  perform ragdb_internal.check_request(v_request);
  v_request := ragdb_internal.with_mode(array[v_corpus], v_request);
  return query
    with found as (
      select 'raw' as plane, h.chunk_id as id, h.text, h.score, array[h.source] as source_ids,
          null::text as slice_id
        from ragdb.search(corpus => search_dual.corpus, query => search_dual.query,
          k => search_dual.k, mode => v_request.mode, min_score => search_dual.min_score,
          filter => search_dual.filter, query_embedding => v_request.query_embedding,
          fusion => search_dual.fusion, lexical_weight => search_dual.lexical_weight) h
      union all
      select s.plane, s.id::text, s.text, s.score, s.source_ids, s.slice_id
        from ragdb_internal.rank_statements(v_corpus, v_request) s
    )
    select f.rank::integer, f.plane, f.id, f.text, f.score, f.source_ids, f.slice_id,
        -- a search that finds chunks alone looks at no key
        case when f.plane <> 'raw' then ragdb_internal.statement_state(
          v_corpus.corpus_id, f.plane, f.id, (select ragdb_internal.known_keys())) end
      from (select f.*, row_number() over (
        order by f.score desc, f.plane collate "C", f.id collate "C") as rank from found f) f
      where f.rank <= search_dual.k order by f.rank;
end $$;
comment on function ragdb.search_dual is
  'Searches both planes, the raw chunks (with the arguments of ragdb.search) and what was '
  'promoted from them (atoms and proposals), and returns the k best with their plane, what they '
  'rest on, and the state of what was promoted: current, stale (its evidence is gone or says '
  'something else) or tampered. A statement is scored as a chunk is; its meaning is that of the '
  'nearest chunk that it rests on, by rrf its ranks are those among statements, and all of its '
  'chunks have to meet a filter. Raises what ragdb.search raises.';
