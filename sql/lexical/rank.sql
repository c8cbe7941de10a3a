-- Few postings, or a list of chunks: score them all. Else the blocks, where the corpus has some
-- that know nearly all of its chunks and nothing else has to be met. Else a tsquery that lets
-- through what can reach the k-th score, which is guessed at first.
create or replace function ragdb_internal.rank_lexical(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer, filter jsonb,
    chunk_ids text[],
  among integer[] default null, also integer[] default null)
returns table (chunk_no integer, score float8, bm25 float8, coverage float8)
language plpgsql stable parallel safe rows 20
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_text text := query;
  v_must text := '';
  v_ids integer[];
  v_weights float8[];
  v_asked float8;
  v_vector ragdb.chunk_lexemes.impacts%type;
  v_tokens text[];
  v_bounds float8[];
  v_block_ids integer[];
  v_block_times integer[];
  v_most float8;
  v_loose text;
  v_rests float8[];
  v_reach float8;
  v_postings bigint;
  v_conditions jsonb[];
  v_sql text;
  v_among integer[] := among;
  v_state ragdb.block_states;
  v_condition text;
  v_guess float8 := 0.65;
  v_need float8;
  v_limit integer := 2 * k + 32;
  v_found integer[];
  v_scores float8[];
  v_count integer;
  -- Worked out once a session, when it is planned. A piece of two megabytes that was given back
  -- makes the C library of most servers keep what later calls give back; else each of them asks the
  -- system for its memory anew, page by page, which took a fifth of the time (measured).
  v_primed constant integer := length(repeat(' ', 2000000));
begin
  if ragdb_internal.has_clauses(query) then
    select string_agg(c.text, ' ') filter (where c.kind <> 'not') into v_text
      from ragdb_internal.query_clauses(query) c;
    v_must := ragdb_internal.query_condition(corpus, query);
  end if;
  select array_agg(t.term_id order by t.lexeme) filter (where t.df > 0),
    array_agg(t.weight order by t.lexeme) filter (where t.df > 0),
    array_agg(t.weight * t.max_impact order by t.lexeme) filter (where t.df > 0),
    array_agg(t.term_id) filter (where t.times is not null),
      array_agg(t.times) filter (where t.times is not null),
    coalesce(max(t.weight / (t.times * t.block_weight)), 1),
    string_agg(ragdb_internal.token(corpus.corpus_id, t.term_id), '|') filter (where t.df > 0
      and t.times is null),
    ragdb_internal.sparse(string_agg(t.term_id || ':' || t.weight::real, ',' order by t.lexeme)
      filter (where t.df > 0)),
    sum(t.weight order by t.lexeme),
      sum(t.weight * t.max_impact order by t.lexeme) filter (where t.df > 0), sum(t.df)
  into v_ids, v_weights, v_bounds, v_block_ids, v_block_times, v_most, v_loose, v_vector, v_asked,
    v_reach, v_postings
  from (
    select u.*, case when u.df > 0 and u.block_weight is not null
      then greatest(1, least(100, round(u.weight / u.block_weight)))::integer end as times
    from (
      select w.lexeme collate "C" as lexeme, l.term_id, coalesce(l.df, 0) as df, l.max_impact,
        l.block_weight,
        cardinality(w.positions)
          * ln(1 + (statistics.chunks - n.df + 0.5::float8) / (n.df + 0.5::float8)) as weight
      from unnest(ragdb_internal.lexemes(v_text, corpus.text_config)) w
        left join lateral (select d.term_id, d.df, d.max_impact, d.block_weight from ragdb.lexemes d
          where d.corpus_id = corpus.corpus_id and d.lexeme = w.lexeme offset 0) l on true
        cross join lateral (
          select coalesce(case when statistics.corpus_id = corpus.corpus_id then l.df
          else (select d.df from ragdb.lexemes d
            where d.corpus_id = statistics.corpus_id and d.lexeme = w.lexeme) end, 0) as df
              offset 0) n offset 0) u
    offset 0) t;
  -- Of many chunks it is cheaper to look at those with the right words than at each; of many more
  -- when they are listed already.
  if filter is not null or chunk_ids is not null then
    v_among := ragdb_internal.filtered_chunks(corpus.corpus_id, filter, chunk_ids,
      case when chunk_ids is null then 5001 end);
    if chunk_ids is null and cardinality(v_among) > 5000 then
      v_conditions := array(select to_jsonb(f) from ragdb_internal.filter_conditions(filter) f);
      v_sql := ragdb_internal.filter_joins(v_conditions) || ' and x.lexemes @@ $4';
    end if;
  elsif cardinality(v_among) > 20000 then
    v_sql := ' where x.lexemes @@ $4 and x.chunk_no = any ($6)';
  end if;
  if v_sql is not null then
    v_among := null;
    v_sql := 'select array_agg(q.chunk_no order by q.score desc),'
      ' array_agg(q.score order by q.score desc) from ('
      'select x.chunk_no, ragdb_internal.inner_product(x.impacts, $2) as score from ragdb.chunk_lexemes x'
        || v_sql
      || ' order by 2 desc limit $5) q';
  end if;
  if v_ids is null or v_must is null then
    return;
  end if;
  -- what phrases and +words leave is mostly little
  if v_must like '%&(%' and v_among is null and v_sql is null and v_postings > 400 then
    v_among := ragdb_internal.chunks_meeting(substr(v_must, 2)::tsquery, 5001);
    if cardinality(v_among) > 5000 then
      v_among := null;
    else
      v_must := '';
    end if;
  end if;
  -- Every chunk with a score of at least v_need is looked at. The k-th score found is a lower bound
  -- of the true one, so what follows a guess that was too high is right.
  v_need := case when v_among is not null or v_postings <= 400 then 0 else v_guess * v_reach end;
  if v_need > 0 and v_sql is null and v_must = '' then
    select t.* into v_state from ragdb.block_states t
      where t.corpus_id = corpus.corpus_id and t.last_chunk_no >= corpus.next_chunk_no - 4096;
  end if;
  if v_state.corpus_id is not null then
    select f.chunk_nos, f.scores into v_found, v_scores
      from ragdb_internal.find_in_blocks(corpus, v_state,
        case when v_block_ids is not null then
          ragdb_internal.block_sums(corpus.corpus_id, v_state.last_chunk_no,
            ragdb_internal.levels(v_block_ids, v_block_times)) end,
        v_most, v_loose::tsquery, v_vector, v_reach, k) f;
    v_count := coalesce(cardinality(v_found), 0);
  else
    select array_agg(ragdb_internal.token(corpus.corpus_id, t.id) order by t.bound desc, t.n),
      array_agg(t.bound order by t.bound desc, t.n), array_agg(t.rest order by t.bound desc, t.n)
    into v_tokens, v_bounds, v_rests
    from (select u.*, sum(u.bound) over (order by u.bound, u.n desc) as rest
      from unnest(v_ids, v_bounds) with ordinality u (id, bound, n)) t;
  end if;
  while v_state.corpus_id is null loop
    if v_among is not null then
      select array_agg(c.chunk_no order by c.score desc), array_agg(c.score order by c.score desc)
      into v_found, v_scores
      from ragdb_internal.candidates_among(corpus.corpus_id, v_among,
        nullif(substr(v_must, 2), '')::tsquery, v_vector, v_limit) c;
    else
      v_condition := ragdb_internal.bound_condition(v_tokens, v_bounds, v_rests, 1, v_need,
        case when cardinality(v_tokens) > 16 then 2 else 3 end);
      if v_condition = '' then
        v_condition := '(' || array_to_string(v_tokens, '|') || ')';
      end if;
      if v_sql is null then
        select array_agg(c.chunk_no order by c.score desc), array_agg(c.score order by c.score desc)
        into v_found, v_scores
        from ragdb_internal.candidates((v_condition || v_must)::tsquery, v_vector, v_limit) c;
      else
        execute v_sql into v_found, v_scores
          using v_conditions, v_vector, corpus.corpus_id, (v_condition || v_must)::tsquery, v_limit,
            among;
      end if;
    end if;
    v_count := coalesce(cardinality(v_found), 0);
    if v_count = v_limit and v_scores[v_limit] >= v_scores[k] * (1 - 1e-5::float8) then
      -- ties at the k-th place, and what float4 cannot tell from them, are all candidates
      v_limit := 8 * v_limit;
      continue;
    end if;
    exit when v_need = 0 or v_count >= k and v_scores[k] * (1 - 1e-5::float8) >= v_need;
    if v_count >= k then
      v_need := v_scores[k] * (1 - 2e-5::float8);
    else
      v_guess := v_guess * 0.65;
      v_need := case when v_guess < 0.1 then 0 else least(v_need * 0.65, v_guess * v_reach) end;
    end if;
  end loop;
  -- what float4 puts clearly below the k-th cannot rank
  if v_count > k then
    v_found := v_found[:(select count(*)::integer from unnest(v_scores) s
      where s >= v_scores[k] * (1 - 1e-5::float8))];
  end if;
  if also is not null then
    v_found := array(select n from unnest(v_found) n union select n from unnest(also) n);
  end if;
  return query
    select b.chunk_no, b.bm25 / (v_asked * (corpus.k1 + 1)), b.bm25, b.matched / v_asked
    from ragdb_internal.exact_bm25(corpus, v_found, v_ids, v_weights) b;
end $$;
comment on function ragdb_internal.rank_lexical(ragdb.corpora, ragdb.corpora, text, integer, jsonb, text[],
  integer[], integer[]) is
  'Returns at least the k best chunks of a corpus (under a filter and chunk ids, or among the '
  'given) by BM25 over the most the query could reach, and those of also, in no order, with the '
  'raw BM25 and the share of the query''s idf that the chunk has. Raises RG410.';
