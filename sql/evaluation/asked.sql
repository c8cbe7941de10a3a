-- From a question that was not answered to a case that fails until it is.

-- Returns the evals of the contracts in force whose rag retrieves from a corpus that the caller may
-- read (null: any), by their rags: those that begin with a prefix and come after a name, at most so
-- many (null: all) and what else the last rag has.
create or replace function ragdb_internal.page_of_evals(
  corpora integer[], prefix text, after text, count integer)
returns table (eval ragdb.contract_nodes, corpus_id integer, corpus text, retriever text)
language sql stable parallel safe
begin atomic
  select x.eval, x.corpus_id, x.corpus, x.retriever
  from (
    select n as eval, n.rag, c.corpus_id, c.name as corpus, r.name as retriever
    from ragdb.contracts k
      join ragdb.contract_nodes n on n.contract = k.contract and n.version = k.version
        and n.node = 'ragEval'
      join ragdb.contract_nodes g on g.contract = k.contract and g.version = k.version
        and g.node = 'rag' and g.name = n.rag
      join ragdb.contract_nodes r on r.contract = k.contract and r.version = k.version
        and r.node = 'retriever' and r.name = g.keys ->> 'retriever'
      -- of the corpora of the name personal the caller reads one
      join ragdb_internal.corpora_to_read() c on c.name = r.corpus
    where k.is_current and pg_catalog.starts_with(n.rag, page_of_evals.prefix)
      and n.rag > page_of_evals.after
      and (page_of_evals.corpora is null or c.corpus_id = any (page_of_evals.corpora))
    -- offset 0: a contract is looked into for an eval of the page alone
    order by n.rag offset 0) x
  where ragdb_internal.may_read_contract((x.eval).contract, (x.eval).version)
  order by x.rag fetch first (coalesce(page_of_evals.count, 2147483647)) rows with ties;
end;

-- Definer: contracts are granted to nobody.
create or replace function ragdb.list_evals(
  only_corpus text default null, prefix text default '', after text default '',
  count integer default null)
returns table (rag text, eval text, contract text, corpus text, retriever text, metric text,
  threshold float8, declared_cases integer, added_cases integer, runs integer, last_run uuid,
  last_status text, last_at timestamptz, baseline uuid)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_only constant integer[] := ragdb_internal.only_corpora(only_corpus, 'read');
begin
  perform ragdb_internal.check_paged(prefix, after, 'rag'),
    ragdb_internal.check_listed(coalesce(count, 1), 'evals');
  return query
    select (p.eval).rag, (p.eval).name, (p.eval).contract, p.corpus, p.retriever,
      (p.eval).keys ->> 'metric', ((p.eval).keys ->> 'threshold')::float8,
      m.declared::integer, m.added::integer,
      coalesce(l.runs, 0)::integer, l.run_id, l.status, l.created_at,
      (select b.run_id from ragdb.eval_baselines b where b.corpus_id = p.corpus_id
        and b.rag = (p.eval).rag and b.eval = (p.eval).name and b.name = 'main')
    from ragdb_internal.page_of_evals(v_only, prefix, after, count) p
      cross join lateral (
        select pg_catalog.count(*) filter (where x.origin = 'contract') as declared,
          pg_catalog.count(*) filter (where x.origin <> 'contract') as added
        from ragdb.eval_cases x
        where x.corpus_id = p.corpus_id and x.rag = (p.eval).rag and x.eval = (p.eval).name) m
      left join lateral (
        select e.run_id, e.status, e.created_at, pg_catalog.count(*) over () as runs
        from ragdb.eval_runs e
        where e.corpus_id = p.corpus_id and e.rag = (p.eval).rag and e.eval = (p.eval).name
        order by e.run_id desc limit 1) l on true
    order by (p.eval).rag, (p.eval).name;
end $$;
comment on function ragdb.list_evals is
  'Lists the evals of the contracts in force whose corpus the caller may read, of one corpus or of '
  'all: how many cases the contract declares and how many were imported or asked, the number of '
  'runs, the latest run, and the baseline main; by their rags, those whose name begins with a '
  'prefix and comes after a given one, at most count (1 to 10000; null: all) and what else the '
  'last rag has. Raises RG400, RG404.';

-- Returns a name for a question: its first words, and the first digits of its hash.
create or replace function ragdb_internal.case_name(query text, digits integer) returns text
language sql immutable parallel safe
return coalesce(nullif(pg_catalog.btrim(pg_catalog.left(pg_catalog.regexp_replace(
    pg_catalog.lower(query collate "C"), '[^a-z0-9]+', '-', 'g'), 40), '-'), '') || '-', '')
  || pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(ragdb_internal.utf8(query)), 'hex'),
    digits);

-- Returns a name for a question that no case of the eval has.
create or replace function ragdb_internal.free_case_name(corpus_id integer,
  declared ragdb.contract_nodes, query text) returns text
language sql stable parallel safe
return (
  select n.name
  from pg_catalog.unnest(array[6, 16, 64]) d (digits)
    cross join lateral ragdb_internal.case_name(free_case_name.query, d.digits) n (name)
  where not exists (
    select from ragdb.eval_cases c
    where c.corpus_id = free_case_name.corpus_id and c.rag = (declared).rag
      and c.eval = (declared).name and c.name = n.name)
  order by d.digits limit 1);

-- Returns what a case of a question asserts: a first hit as good as the gate wants it, and the
-- source that should answer, where one is known. As the gate judges by default: by the floor that
-- was measured for the mode, or any hit at all.
create or replace function ragdb_internal.asked_asserts(settings ragdb.retriever_settings,
  corpus ragdb.corpora, source text) returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object(
    'kind', 'topScoreGte', 'required', true, 'threshold',
    coalesce(ragdb_internal.floor_in(corpus, (settings).mode), 0)))
  || case when source is null then '[]' else pg_catalog.jsonb_build_array(
    pg_catalog.jsonb_build_object('kind', 'sourceEq', 'required', true, 'value', source)) end;

-- Refuses a question that is blank or too long, and tags that are no list or null. Raises RG400,
-- RG413.
create or replace function ragdb_internal.check_asked(query text, source text, tags text[])
  returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(query, '') !~ E'\\S' then
    raise exception 'query is blank'
      using errcode = 'RG400', detail = 'a case asks something', hint = 'give the question';
  elsif not ragdb_internal.is_list(tags) then
    raise exception 'tags are %', ragdb_internal.quote(tags::text)
      using errcode = 'RG400', detail = 'a run selects cases by their tags',
        hint = 'give a list of texts, or no tags: the tag is asked then';
  elsif length(query) > 10000 or length(source) > 2048 then
    raise exception 'query or source is too long'
      using errcode = 'RG413',
        detail = format('query has %s characters, source %s', length(query),
          coalesce(length(source), 0)),
        hint = 'give 10000 characters of a query and 2048 of a source at most';
  end if;
end $$;

-- Returns the source of the document that a case of a question names, as hits have it: by its id
-- too, where it is there already.
create or replace function ragdb_internal.asked_source(corpus_id integer, source text) returns text
language sql stable parallel safe
return coalesce((
  select d.source
  from ragdb_internal.labelled_document(asked_source.corpus_id,
      ragdb_internal.without_dot(asked_source.source)) f
    join ragdb.documents d on d.corpus_id = f.part_id and d.doc_no = f.doc_no),
  ragdb_internal.without_dot(asked_source.source));

create or replace function ragdb.add_eval_case(rag text, eval text, query text,
  source text default null, tags text[] default null) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_held record;
  v_eval ragdb.contract_nodes;
  v_corpus ragdb.corpora;
  v_name text;
  v_source text;
begin
  perform ragdb_internal.check_asked(query, source, tags);
  v_held := ragdb_internal.locked_eval(rag, eval);
  v_eval := v_held.node;
  v_corpus := v_held.corpus;
  select c.name into v_name
    from ragdb_internal.eval_cases(v_eval, v_corpus.corpus_id, null) c
    where c.query = add_eval_case.query order by c.case_no limit 1;
  if found then
    return v_name;
  end if;
  v_name := ragdb_internal.free_case_name(v_corpus.corpus_id, v_eval, query);
  v_source := ragdb_internal.asked_source(v_corpus.corpus_id, source);
  insert into ragdb.eval_cases (corpus_id, rag, eval, name, origin, ordinal, query, tags, asserts,
      asked_at)
    select v_corpus.corpus_id, v_eval.rag, v_eval.name, v_name, 'asked',
      coalesce(max(c.ordinal), 0) + 1, add_eval_case.query, coalesce(add_eval_case.tags, '{asked}'),
      ragdb_internal.asked_asserts(v_held.settings, v_corpus, v_source), ragdb_internal.now()
    from ragdb.eval_cases c
    where c.corpus_id = v_corpus.corpus_id and c.rag = v_eval.rag and c.eval = v_eval.name;
  -- a label of what is not there yet would be stale; the assertion waits for it
  if (ragdb_internal.labelled_document(v_corpus.corpus_id, v_source)).doc_no is not null then
    insert into ragdb.eval_labels (corpus_id, rag, eval, name, label_no, source, grade)
      values (v_corpus.corpus_id, v_eval.rag, v_eval.name, v_name, 1, v_source, 1);
  end if;
  perform ragdb_internal.renew_statistics('{ragdb.eval_cases,ragdb.eval_labels}'),
    ragdb_internal.record_state('cases', v_corpus.corpus_id,
      jsonb_build_array(v_eval.rag, v_eval.name)::text);
  return v_name;
end $$;
comment on function ragdb.add_eval_case is
  'Makes a case of an eval (null: the only one of the rag) of a question (up to 10000 characters) '
  'that was not answered, and returns its name, or that of the case that asks the same already. It '
  'passes once the first hit scores as the gate of the corpus wants it, and once the source is '
  'among the hits, where one is given. An import leaves it; '
  'its tag is asked unless tags are given. Raises RG400, RG401, RG404, RG413, '
  'RG441.';
