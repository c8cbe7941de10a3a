create or replace function ragdb_internal.mutants() returns text[]
language sql immutable parallel safe
return array['reversed order', 'random order', 'first result dropped', 'last result dropped',
  'one more than topK', 'only the first', 'threshold ignored',
  'off by one page', 'wrong results', 'citation stripped', 'source lost', 'text lost',
    'stale chunk', 'scores doubled', 'scores halved', 'constant score',
  'every chunk twice', 'ASCII only', 'empty'];
comment on function ragdb_internal.mutants() is
  'Lists the broken retrievers that evals are challenged with.';

create or replace function ragdb.challenge_eval(
  rag text, eval text default null, tags text[] default null, rerank_scores jsonb default null)
returns table (subject text, name text, applies boolean, caught boolean, count integer,
  caught_by text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting ragdb_internal.eval_setting := ragdb_internal.setting_of_eval(rag, eval, rerank_scores);
  v_corpus_id integer := (v_setting.corpus).corpus_id;
  v_case record;
  v_given ragdb_internal.eval_retrieval;
  v_cases ragdb_internal.eval_case[] := '{}';
  v_names text[] := '{}';
  v_given_hits ragdb_internal.eval_hit[] := '{}';
  v_found_hits ragdb_internal.eval_hit[] := '{}';
  v_found ragdb_internal.eval_hit[];
  v_assertions ragdb_internal.eval_assertion[] := '{}';
  v_labels ragdb_internal.eval_label[] := '{}';
  v_ks integer[] := '{}';
  v_grades jsonb;
  v_mutant text;
  v_hits ragdb_internal.eval_hit[];
  v_sound integer[];
  v_failing integer[];
  v_changed integer;
  v_catching integer[] := '{}';
begin
  perform ragdb_internal.check_rerank_scores(v_setting);
  perform ragdb_internal.lock_eval(v_corpus_id, v_setting.eval, false);
  for v_case in select c.* from ragdb_internal.eval_cases(v_setting.eval, v_corpus_id, tags) c
    order by c.case_no limit 500 loop
    v_given := ragdb_internal.retrieve_case(v_setting, v_case.case_no, v_case.name, v_case.query, v_case.k,
      v_case.min_score, v_case.anchor, v_case.policy);
    v_cases := v_cases || v_given.outcome;
    v_names := v_names || v_case.name;
    v_ks := v_ks || coalesce(v_case.k, (v_setting.settings).k);
    v_given_hits := v_given_hits || v_given.hits;
    -- without limits; not recorded, because nobody was given it
    v_found := array(
      select row(v_case.case_no, row_number() over (order by r.rank nulls last, h.rank)::integer,
        h.chunk_id, h.source, h.text, coalesce(h.citation, jsonb_build_object('uri', h.source)),
        h.score, h.content_hash,
        c.token_count, h.doc_cid, h.start_offset, h.end_offset)::ragdb_internal.eval_hit
      from ragdb.search((v_setting.settings).corpus, v_case.query,
        case when (v_setting.settings).reranker is null
          then least(1000, 3 * v_ks[v_case.case_no] + 1)
            else ragdb.rerank_depth(v_ks[v_case.case_no]) end, (v_setting.settings).mode, 0) h
        join ragdb.chunks c on c.corpus_id = v_corpus_id and c.chunk_id = h.chunk_id
        left join ragdb.retrieval_reranks r on r.corpus_id = v_corpus_id
          and r.trace_id = (v_given.outcome).trace_id
          and r.created_at = ragdb_internal.uuid_time((v_given.outcome).trace_id)
            and r.chunk_id = h.chunk_id
      where (v_given.outcome).error is null);
    v_found_hits := v_found_hits || v_found;
    v_assertions := v_assertions
      || array(select a from ragdb_internal.typed_assertions(v_case.case_no, v_case.expected,
        v_case.asserts) a where a.kind <> 'latencyLte');
    v_labels := v_labels
      || array(select l from ragdb_internal.case_labels(v_setting.eval, v_corpus_id, v_case.case_no,
        v_case.name, v_case.expected, v_case.is_imported) l);
  end loop;
  v_labels := ragdb_internal.resolved_labels(v_corpus_id, v_labels);
  v_grades := ragdb_internal.label_grades(v_labels);
  -- only a case that passes can notice anything
  v_sound := array(select c.case_no from unnest(v_cases) c except
    select r.case_no from ragdb_internal.assert_results(v_cases, v_given_hits,
      array(select i from ragdb_internal.label_items(v_corpus_id, v_given_hits, v_labels) i), v_grades,
      v_assertions) r
    where ragdb_internal.fails_case(r));
  foreach v_mutant in array ragdb_internal.mutants() loop
    select coalesce(array_agg(b order by b.case_no, b.rank), '{}') into v_hits
      from unnest(v_cases) c
        cross join lateral (select array_agg(f order by f.rank) as hits from unnest(v_found_hits) f
          where f.case_no = c.case_no) f
        cross join lateral (select array_agg(g order by g.rank) as hits from unnest(v_given_hits) g
          where g.case_no = c.case_no) g
        cross join lateral unnest(ragdb_internal.broken(v_mutant, coalesce(f.hits, '{}'),
          coalesce(g.hits, '{}'), v_ks[c.case_no], c.query)) b;
    select count(*) into v_changed from (
      select h.case_no, array_agg(h order by h.rank) as hits from unnest(v_hits) h group by 1) a
      full join (select h.case_no, array_agg(h order by h.rank) as hits from unnest(v_given_hits) h
        group by 1) b on b.case_no = a.case_no
      where a.hits is distinct from b.hits and coalesce(a.case_no, b.case_no) = any (v_sound);
    v_failing := array(
      select distinct r.case_no
        from ragdb_internal.assert_results(v_cases, v_hits,
          array(select i from ragdb_internal.label_items(v_corpus_id, v_hits, v_labels) i), v_grades,
          v_assertions) r
      where ragdb_internal.fails_case(r) and r.case_no = any (v_sound));
    v_catching := v_catching || v_failing;
    subject := 'retriever';
    name := v_mutant;
    applies := v_changed > 0;
    caught := v_failing <> '{}';
    count := cardinality(v_failing);
    caught_by := (select string_agg(v_names[n.case_no], ', ' order by n.case_no)
      from (select f.case_no from unnest(v_failing) f (case_no) order by 1 limit 5) n);
    return next;
  end loop;
  return query
    select 'case', v_names[c.case_no], c.case_no = any (v_sound), false, 0,
      case when c.case_no = any (v_sound) then 'no broken retriever'
        else 'it fails with the sound one' end
    from unnest(v_cases) c where c.case_no <> all (v_catching) order by c.case_no;
end $$;
comment on function ragdb.challenge_eval(text, text, text[], jsonb) is
  'Runs an eval (its first 500 cases) against 19 broken retrievers: a row for each, whether it '
  'changes any result of a case that passes (applies) and whether cases fail then (caught, count), '
  'and a row for each case that catches none; rerank_scores is that of ragdb.run_eval. Raises '
  'RG404, RG415, RG417, RG441, RG442.';
