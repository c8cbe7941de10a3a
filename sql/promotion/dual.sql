-- Search over both planes: the chunks, and what was promoted from them.

-- Returns atoms and proposals that are not rejected with the BM25 of their text over the most the
-- query could reach, by the statistics of the corpus. Statements are ranked by the formula and the
-- statistics of the corpus's chunks, so that both planes share one scale.
create or replace function ragdb_internal.rank_statements(corpus ragdb.corpora, query text)
returns table (plane text, id uuid, text text, score float8, source_ids text[], slice_id text)
language sql stable parallel safe
begin atomic
  with asked as materialized (
    select w.lexeme, pg_catalog.cardinality(w.positions)
        * ragdb_internal.idf((corpus).chunks, coalesce(l.df, 0)) as weight
      from pg_catalog.unnest(ragdb_internal.lexemes(
        ragdb_internal.without_clauses(rank_statements.query), (corpus).text_config)) w
      left join ragdb.lexemes l on l.corpus_id = (corpus).corpus_id and l.lexeme = w.lexeme
  ), statements as (
    select 'atom' as plane, a.atom_id as id, a.text, a.lexemes, a.source_chunk_ids as source_ids,
        a.source_slice_id as slice_id
      from ragdb.semantic_atoms a where a.corpus_id = (corpus).corpus_id
    union all
    select 'proposal', p.proposal_id, p.text, p.lexemes, p.source_atoms::text[], p.source_slice_id
      from ragdb.semantic_proposals p
      where p.corpus_id = (corpus).corpus_id and not exists (
        select from ragdb.proposal_decisions d
        where d.corpus_id = p.corpus_id and d.proposal_id = p.proposal_id
          and d.decision = 'rejected')
  )
  select s.plane, s.id, s.text, r.score, s.source_ids, s.slice_id
    from statements s
    cross join lateral (
      select ragdb_internal.length_norm(pg_catalog.sum(pg_catalog.cardinality(w.positions)),
          (corpus).k1, (corpus).b, (corpus).pivot) as norm
        from pg_catalog.unnest(s.lexemes) w) d
    cross join lateral (
      select pg_catalog.sum(ragdb_internal.impact(pg_catalog.cardinality(w.positions), d.norm,
            (corpus).k1, q.weight) order by q.lexeme collate "C")
          / (((corpus).k1 + 1)
            * (select pg_catalog.sum(a.weight order by a.lexeme collate "C") from asked a))
          as score
        from asked q join pg_catalog.unnest(s.lexemes) w on w.lexeme = q.lexeme) r
    where r.score > 0;
end;

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
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(search_dual.corpus, 'read');
begin
  perform ragdb_internal.check_k(search_dual.k);
  return query
    with found as (
      select 'raw' as plane, h.chunk_id as id, h.text, h.score, array[h.source] as source_ids,
          null::text as slice_id
        from ragdb.search(corpus => search_dual.corpus, query => search_dual.query,
          k => search_dual.k, mode => search_dual.mode, min_score => search_dual.min_score,
          filter => search_dual.filter, query_embedding => search_dual.query_embedding,
          fusion => search_dual.fusion, lexical_weight => search_dual.lexical_weight) h
      union all
      select s.plane, s.id::text, s.text, s.score, s.source_ids, s.slice_id
        from ragdb_internal.rank_statements(v_corpus, search_dual.query) s
        where s.score >= search_dual.min_score
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
  'Searches both planes, the raw chunks (with the arguments of ragdb.search) and what was promoted '
  'from them (atoms and proposals, by their words), and returns the k best with their plane, what '
  'they rest on, and the state of what was promoted: current, stale (its evidence is gone or says '
  'something else) or tampered. Raises what ragdb.search raises.';
