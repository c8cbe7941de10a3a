-- Search: filters, exact BM25 over the lexical index, the reference ranking, and what a hit looks
-- like.

do $$ begin
  if pg_catalog.to_regtype('ragdb.hit') is null then
    create type ragdb.hit as (
      rank integer, corpus text, chunk_id text, doc_cid text, source text, title text,
        heading text[],
      page integer, start_offset integer, end_offset integer, text text, citation jsonb,
      score float8, lexical_score float8, semantic_score float8,
      lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8,
      content_hash text, metadata jsonb, mode text, is_exact boolean);
  end if;
end $$;
comment on type ragdb.hit is
  'One result of a search: the chunk, where it stands in its source, and its scores in [0, 1] with '
  'the raw BM25 beside them.';

do $$ begin
  if pg_catalog.to_regtype('ragdb.ranked') is null then
    create type ragdb.ranked as (
      chunk_no integer, score float8, lexical_score float8, semantic_score float8,
      lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, is_exact boolean);
  end if;
end $$;
comment on type ragdb.ranked is
  'A chunk in a ranking: its score, and score and rank in each leg; null where a leg did not run '
  'or lacks an embedding.';

-- A pattern becomes one of LIKE, whose matcher gives up at the first star that cannot be met: n·m
-- steps at most.
create or replace function ragdb._glob_pattern(pattern text) returns text
language sql immutable parallel safe
return pg_catalog.replace(
  pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(
  _glob_pattern.pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_');
comment on function ragdb._glob_pattern(text) is
  'Returns the LIKE pattern of a glob: * is any run of characters, / included, and ? any one '
  'character.';

create or replace function ragdb._glob(text text, pattern text) returns boolean
language sql immutable parallel safe
return _glob.text like ragdb._glob_pattern(_glob.pattern);
comment on function ragdb._glob(text, text) is
  'Whether a text matches a glob as a whole: * is any run of characters, / included, and ? any one '
  'character.';

create or replace function ragdb._is_long_glob(pattern text) returns boolean
language sql immutable parallel safe
return pg_catalog.length(_is_long_glob.pattern) > 1024 or pg_catalog.length(_is_long_glob.pattern)
  - pg_catalog.length(pg_catalog.replace(_is_long_glob.pattern, '*', '')) > 16;
comment on function ragdb._is_long_glob(text) is
  'Whether a glob has more than 1,024 characters or more than 16 stars.';

-- Every condition of a filter as one row, in one form: an operator, a field and a value.
create or replace function ragdb._filter_conditions(filter jsonb)
returns table (field text, is_builtin boolean, operator text, value jsonb)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_field record;
  v_operator record;
  v_operators jsonb;
  v_fits boolean;
begin
  if jsonb_typeof(filter) <> 'object' then
    raise exception 'filter is % and no object', jsonb_typeof(filter)
      using errcode = 'RG410', detail = 'it is ' || ragdb._quote(filter::text),
            hint = 'pass an object such as {"language": "en", "year": {"gte": 2020}}';
  end if;
  for v_field in select f.key, f.value from jsonb_each(filter) f order by f.key collate "C" loop
    field := v_field.key;
    v_operators := v_field.value;
    if field = 'min_year' then
      field := 'year';
      v_operators := jsonb_build_object('gte', v_operators);
    elsif jsonb_typeof(v_operators) = 'array' then
      v_operators := jsonb_build_object('all', v_operators);
    elsif jsonb_typeof(v_operators) <> 'object' then
      v_operators := jsonb_build_object('eq', v_operators);
    end if;
    is_builtin := field in ('source', 'language', 'title', 'page', 'doc_cid', 'media_type', 'uri');
    if v_operators = '{}' then
      raise exception 'filter on % has no operator', ragdb._quote(field)
        using errcode = 'RG410', detail = 'its value is an empty object',
          hint = 'operators are eq, ne, gt, gte, lt, lte, in, any, all, exists, glob';
    end if;
    for v_operator in select o.key, o.value from jsonb_each(v_operators) o
      order by o.key collate "C" loop
      operator := v_operator.key;
      value := v_operator.value;
      v_fits := case
        when operator in ('eq', 'ne') then not is_builtin
          or jsonb_typeof(value) = case field when 'page' then 'number' else 'string' end
        when operator in ('gt', 'gte', 'lt', 'lte') then jsonb_typeof(value) in ('number', 'string')
          and (not is_builtin
            or jsonb_typeof(value) = case field when 'page' then 'number' else 'string' end)
        when operator in ('in', 'any', 'all') then jsonb_typeof(value) = 'array'
          and not (is_builtin
            and jsonb_path_exists(value,
              case field when 'page' then '$[*] ? (@.type() != "number")'::jsonpath
            else '$[*] ? (@.type() != "string")'::jsonpath end))
        when operator = 'exists' then jsonb_typeof(value) = 'boolean'
        when operator = 'glob' then jsonb_typeof(value) = 'string' and field <> 'page' end;
      if v_fits is null then
        raise exception 'filter operator % is unknown', ragdb._quote(operator)
          using errcode = 'RG410', detail = 'it stands in the filter on ' || ragdb._quote(field),
                hint = 'operators are eq, ne, gt, gte, lt, lte, in, any, all, exists, glob';
      elsif not v_fits then
        raise exception 'filter operator % of % cannot take %', operator, ragdb._quote(field),
          ragdb._quote(value::text)
          using errcode = 'RG410', detail = 'the value is of type ' || jsonb_typeof(value),
                hint = 'gt, gte, lt, lte take a number or a string; in, any, all an array; exists '
                       'a boolean; glob a string; page is a number, the other built-in fields are '
                       'strings';
      elsif operator = 'glob' and ragdb._is_long_glob(value #>> '{}') then
        raise exception 'glob of % is too long', ragdb._quote(field)
          using errcode = 'RG410', detail = 'it has ' || length(value #>> '{}') || ' characters',
                hint = 'a glob has at most 1024 characters and 16 stars';
      end if;
      return next;
    end loop;
  end loop;
end $$;
comment on function ragdb._filter_conditions(jsonb) is
  'Returns the conditions of a filter, checked. Raises RG410.';

-- A filter as a condition on documents d and chunks c. The text is made of the pieces below and of
-- numbers; names and values of the caller stay in $1, the array of conditions.
create or replace function ragdb._filter_sql(conditions jsonb[], of_chunks boolean default null)
  returns text
language sql immutable parallel safe
begin atomic
  select pg_catalog.string_agg('('
    || pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(e.text,
      '{V}', '($1[' || e.n || '] -> ''value'')'),
      '{T}', '($1[' || e.n || '] ->> ''value'')'),
      '{K}', '($1[' || e.n || '] ->> ''field'')') || ')', ' and ' order by e.n)
  from (
    select f.n, case
      when f.field = 'uri'
        then 'exists (select from ragdb.document_sources s where s.corpus_id = d.corpus_id'
        || ' and s.doc_no = d.doc_no and ' || pg_catalog.replace(f.template, '{F}', 's.uri') || ')'
      when f.is_builtin then pg_catalog.replace(f.template, '{F}',
        case f.field when 'source' then 'd.source'
        when 'language' then 'd.language collate "C"' when 'title' then 'd.title collate "C"'
          when 'page' then 'c.page::numeric'
        when 'doc_cid' then 'd.doc_cid' when 'media_type' then 'd.media_type collate "C"' end)
      else f.template end as text
    from (
      select c.n, c.condition ->> 'field' as field,
        (c.condition ->> 'is_builtin')::boolean as is_builtin,
        case when (c.condition ->> 'is_builtin')::boolean then
          case c.condition ->> 'operator'
            when 'eq' then '{F} = {X}' when 'ne' then '{F} is distinct from {X}'
            when 'gt' then '{F} > {X}' when 'gte' then '{F} >= {X}'
            when 'lt' then '{F} < {X}' when 'lte' then '{F} <= {X}'
            when 'in' then '{F} = any (array(select {E} from '
                           'pg_catalog.jsonb_array_elements_text({V}) e))'
            when 'any' then '{F} = any (array(select {E} from '
                            'pg_catalog.jsonb_array_elements_text({V}) e))'
            when 'all' then '{F} = all (array(select {E} from '
                            'pg_catalog.jsonb_array_elements_text({V}) e))'
            when 'exists' then '({F} is not null) = ({T})::boolean'
            when 'glob' then '{F} like ragdb._glob_pattern({T})'
          end
        else
          case c.condition ->> 'operator'
            when 'eq' then 'd.metadata @> pg_catalog.jsonb_build_object({K}, {V}) and d.metadata '
                           '-> {K} = {V}'
            when 'ne' then 'd.metadata -> {K} is distinct from {V}'
            when 'in' then 'd.metadata -> {K} = any (array(select e from '
                           'pg_catalog.jsonb_array_elements({V}) e))'
            when 'any' then 'case when pg_catalog.jsonb_typeof(d.metadata -> {K}) = ''array'''
              || ' then exists (select from pg_catalog.jsonb_array_elements(d.metadata -> {K}) m'
              || ' where m = any (array(select e from pg_catalog.jsonb_array_elements({V}) e)))'
              || ' else d.metadata -> {K} = any (array(select e from '
                 'pg_catalog.jsonb_array_elements({V}) e)) end'
            when 'all' then 'd.metadata @> pg_catalog.jsonb_build_object({K}, {V})'
            when 'exists' then 'pg_catalog.jsonb_exists(d.metadata, {K}) = ({T})::boolean'
            when 'glob' then 'pg_catalog.jsonb_typeof(d.metadata -> {K}) = ''string'''
              || ' and (d.metadata ->> {K}) like ragdb._glob_pattern({T})'
            else pg_catalog.format(case c.condition -> 'value'
              when pg_catalog.to_jsonb(c.condition ->> 'value')
                then 'case when pg_catalog.jsonb_typeof(d.metadata -> {K}) = ''string'' then '
                     '(d.metadata ->> {K}) collate "C" %s {T} end'
                else 'case when pg_catalog.jsonb_typeof(d.metadata -> {K}) = ''number'' then '
                     '(d.metadata ->> {K})::numeric %s ({T})::numeric end'
              end, case c.condition ->> 'operator' when 'gt' then '>' when 'gte' then '>='
                when 'lt' then '<' else '<=' end)
          end
        end as raw
      from pg_catalog.unnest(_filter_sql.conditions) with ordinality c (condition, n)
      where _filter_sql.of_chunks is null
        or _filter_sql.of_chunks = (c.condition ->> 'field' = 'page')
    ) r
    cross join lateral (select pg_catalog.replace(pg_catalog.replace(r.raw,
      '{X}', case r.field when 'page' then '({T})::numeric' else '{T}' end),
      '{E}', case r.field when 'page' then 'e::numeric' else 'e' end) as template, r.n, r.field,
        r.is_builtin) f
  ) e;
end;
comment on function ragdb._filter_sql(jsonb[], boolean) is
  'Returns what conditions of a filter, given as $1, demand of documents d and chunks c, or of '
  'only one of them; null for nothing.';

-- By key too, for chunks that are known: rows x of corpus_id and chunk_no go before it.
create or replace function ragdb._filter_joins(conditions jsonb[]) returns text
language sql immutable parallel safe
return ' cross join lateral (select h.doc_no, h.page from ragdb.chunks h'
  ' where h.corpus_id = x.corpus_id and h.chunk_no = x.chunk_no offset 0) c'
  ' cross join lateral (select o.* from ragdb.documents o'
  ' where o.corpus_id = x.corpus_id and o.doc_no = c.doc_no offset 0) d'
  ' where ' || ragdb._filter_sql(_filter_joins.conditions);
comment on function ragdb._filter_joins(jsonb[]) is
  'Returns the joins and the condition by which rows x, of corpus_id and chunk_no, meet conditions '
  'of a filter, given as $1.';

-- By key, one by one: of a corpus the planner knows so little that a walk through all of it looks
-- as good, and that compares every chunk with every id.
create or replace function ragdb._chunk_numbers(corpus_id integer, chunk_ids text[])
  returns integer[]
language sql stable parallel safe
return array(
  select c.chunk_no
  from (select distinct i.chunk_id from pg_catalog.unnest(_chunk_numbers.chunk_ids) i (chunk_id)) i
    cross join lateral (select h.chunk_no from ragdb.chunks h
      where h.corpus_id = _chunk_numbers.corpus_id and h.chunk_id = i.chunk_id offset 0) c);
comment on function ragdb._chunk_numbers(integer, text[]) is
  'Returns the numbers of the chunks of a corpus that have one of some ids, each once, in no '
  'order.';

create or replace function ragdb._filtered_chunks(
  corpus_id integer, filter jsonb, chunk_ids text[], most integer default null)
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_conditions jsonb[];
  v_is_alone boolean;
  v_documents text;
  v_chunks text;
  v_chunk_nos integer[];
begin
  if chunk_ids is not null then
    v_chunk_nos := ragdb._chunk_numbers(_filtered_chunks.corpus_id, _filtered_chunks.chunk_ids);
  end if;
  if filter is null or filter = '{}' then
    return v_chunk_nos;
  end if;
  v_conditions := array(select to_jsonb(f) from ragdb._filter_conditions(filter) f);
  if v_chunk_nos is not null then
    execute 'select array(select x.chunk_no'
      ' from (select $2 as corpus_id, n as chunk_no from unnest($3) n) x'
      || ragdb._filter_joins(v_conditions) || ' limit $4)'
    into v_chunk_nos using v_conditions, _filtered_chunks.corpus_id, v_chunk_nos, most;
    return v_chunk_nos;
  end if;
  -- The index over metadata knows nothing of corpora. Where most documents are this one's it is
  -- better alone: to join it with an index that does takes as long as reading that one whole.
  v_is_alone := exists (select from unnest(v_conditions) c (condition)
      where not (condition ->> 'is_builtin')::boolean and condition ->> 'operator' in ('eq', 'all'))
    and (select 2 * p.documents > r.reltuples from ragdb.corpora p, pg_class r
      where p.corpus_id = _filtered_chunks.corpus_id and r.oid = 'ragdb.documents'::regclass);
  v_documents := ragdb._filter_sql(v_conditions, of_chunks => false);
  v_chunks := ragdb._filter_sql(v_conditions, of_chunks => true);
  -- the chunks of a list of documents in one scan cost a third less than a scan for each
  execute 'select array(select c.chunk_no from ragdb.chunks c where c.corpus_id = $2'
    || coalesce(' and c.doc_no = any (array('
      'select d.doc_no from ragdb.documents d where d.chunks > 0 and '
      || case when v_is_alone then '(d.corpus_id = $2) is true' else 'd.corpus_id = $2' end
      || ' and ' || v_documents
      || case when v_chunks is null then ' limit $3' else '' end || '))', '')
    || coalesce(' and ' || v_chunks, '') || ' limit $3)'
  into v_chunk_nos using v_conditions, _filtered_chunks.corpus_id, most;
  return v_chunk_nos;
end $$;
comment on function ragdb._filtered_chunks(integer, jsonb, text[], integer) is
  'Returns the chunks of a corpus that a filter and a list of chunk ids leave, at most so many '
  '(null: all); null when there is neither. Raises RG410.';

-- "quoted phrase", +word and -word, as web search engines have them; everything else only ranks. A
-- sign counts before a letter or a quote: "+1 nucleosome" and "-5 degrees" are plain words.
create or replace function ragdb._query_clauses(query text)
returns table (kind text, is_phrase boolean, text text)
language sql immutable parallel safe
begin atomic
  select case when m.part[1] = '-' then 'not' when m.part[1] = '+'
    or m.part[2] is not null then 'must' else 'rank' end,
    m.part[2] is not null, coalesce(m.part[2], m.part[3])
  from pg_catalog.regexp_matches(_query_clauses.query,
    '(?:(?<![^\s])([+-])(?=[^\u0001-\u0040[-\u0060{-\u007f]|"))?(?:"([^"]*)"|([^\s"]+|"))',
      'g') m (part);
end;
comment on function ragdb._query_clauses(text) is
  'Splits a query into clauses: rank (a word), must (+word, "phrase") and not (-word, -"phrase").';

create or replace function ragdb._has_clauses(query text) returns boolean
language sql immutable parallel safe
return _has_clauses.query ~ '"|(^|\s)[+-][^\u0001-\u0040[-\u0060{-\u007f]';
comment on function ragdb._has_clauses(text) is 'Whether a query has more than words that rank.';

-- What a clause demands of a chunk, as the text of a tsquery over tokens; null when the corpus
-- lacks one of its words.
create or replace function ragdb._clause_condition(corpus_id integer, words tsvector,
  is_phrase boolean)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_position record;
  v_last integer;
  v_condition text;
begin
  -- lexemes of one position are forms of one word: any of them will do
  for v_position in
    select p.position, '(' || string_agg(ragdb._token(l.corpus_id, l.term_id),
      '|' order by l.term_id) || ')' as tokens
    from unnest(_clause_condition.words) w cross join unnest(w.positions) p (position)
      left join ragdb.lexemes l on l.corpus_id = _clause_condition.corpus_id and l.lexeme = w.lexeme
        and l.df > 0
    group by p.position order by p.position
  loop
    if v_position.tokens is null then
      return null;
    end if;
    v_condition := concat(v_condition, case when v_last is null then ''
      when is_phrase then '<' || v_position.position - v_last || '>' else '&' end,
        v_position.tokens);
    v_last := v_position.position;
  end loop;
  return '(' || v_condition || ')';
end $$;
comment on function ragdb._clause_condition(integer, tsvector, boolean) is
  'Returns a tsquery, as text, that is true of chunks with all words of a clause (in order for a '
  'phrase); null when there can be none.';

-- What all clauses of a query demand; '' is nothing, null cannot be met.
create or replace function ragdb._query_condition(corpus ragdb.corpora, query text) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_clause record;
  v_condition text;
  v_all text := '';
begin
  for v_clause in
    select c.kind, c.is_phrase, ragdb._words(c.text, corpus.text_config) as words
    from ragdb._query_clauses(query) c where c.kind <> 'rank'
  loop
    continue when v_clause.words = '';
    v_condition := ragdb._clause_condition(corpus.corpus_id, v_clause.words, v_clause.is_phrase);
    if v_clause.kind = 'must' then
      v_all := v_all || '&' || v_condition;
    elsif v_condition is not null then
      v_all := v_all || '&!' || v_condition;
    end if;
  end loop;
  return v_all;
end $$;
comment on function ragdb._query_condition(ragdb.corpora, text) is
  'Returns what the phrases, +words and -words of a query demand, as the rest of a tsquery ("&…"), '
  'empty for nothing and null when no chunk can have it.';

create or replace function ragdb._candidates(condition tsquery, weights sparsevec, k integer)
returns table (chunk_no integer, score float8)
language sql stable parallel safe
begin atomic
  select x.chunk_no, ragdb._inner_product(x.impacts, _candidates.weights)
  from ragdb.chunk_lexemes x
  where x.lexemes @@ _candidates.condition
  order by 2 desc
  limit _candidates.k;
end;
comment on function ragdb._candidates(tsquery, sparsevec, integer) is
  'Returns the k best chunks under a condition by their scores in float4, which only pre-rank.';

create or replace function ragdb._chunks_meeting(condition tsquery, most integer) returns integer[]
language sql stable parallel safe
return array(select x.chunk_no from ragdb.chunk_lexemes x
  where x.lexemes @@ _chunks_meeting.condition limit _chunks_meeting.most);
comment on function ragdb._chunks_meeting(tsquery, integer) is
  'Returns the chunks under a condition, so many at most.';

-- The other way round: its cost follows the number of chunks given. A list of keys in one scan
-- costs half of a scan for each.
create or replace function ragdb._candidates_among(
  corpus_id integer, chunk_nos integer[], condition tsquery, weights sparsevec, k integer)
returns table (chunk_no integer, score float8)
language sql stable parallel safe
begin atomic
  select c.chunk_no, c.score
  from (
    select x.chunk_no, ragdb._inner_product(x.impacts, _candidates_among.weights) as score
    from ragdb.chunk_lexemes x
    where x.corpus_id = _candidates_among.corpus_id
      and x.chunk_no = any (_candidates_among.chunk_nos)
      and (_candidates_among.condition is null or x.lexemes @@ _candidates_among.condition)
    offset 0) c
  where c.score > 0
  order by c.score desc
  limit _candidates_among.k;
end;
comment on function ragdb._candidates_among(integer, integer[], tsquery, sparsevec, integer) is
  'Returns the k best of the given chunks that have a term and meet a condition (null: none) by '
  'their scores in float4.';

-- The same of groups of four chunks.
create or replace function ragdb._candidates_in_groups(corpus_id integer, group_nos integer[],
  weights sparsevec)
returns table (chunk_no integer, score float8)
language sql stable parallel safe
begin atomic
  select x.chunk_no, ragdb._inner_product(x.impacts, _candidates_in_groups.weights)
  from ragdb.chunk_lexemes x
  where x.corpus_id = _candidates_in_groups.corpus_id
    and x.chunk_no = any (array(
      select 4 * g.group_no + i
      from pg_catalog.unnest(_candidates_in_groups.group_nos) g (group_no)
        cross join pg_catalog.generate_series(1, 4) i));
end;
comment on function ragdb._candidates_in_groups(integer, integer[], sparsevec) is
  'Returns the chunks of the given groups (from 0) with their scores in float4.';

-- A tsquery that every chunk meets whose upper bounds reach `need`: exact down to `depth` terms,
-- below that "one of those without which the rest cannot". GIN evaluates the tree at every posting
-- it cannot skip, so a small tree that lets some more chunks through beats the exact one (measured:
-- three levels). '' is always true, null never.
create or replace function ragdb._bound_condition(
  tokens text[], bounds float8[], rests float8[], place integer, need float8, depth integer)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last integer := cardinality(tokens);
  v_without text;
  v_with text;
begin
  if need <= 0 then
    return '';
  elsif rests[place] < need then
    return null;
  elsif depth = 0 or place = v_last then
    while rests[v_last] < need loop
      v_last := v_last - 1;
    end loop;
    return '(' || array_to_string(tokens[place:v_last], '|') || ')';
  end if;
  v_without := ragdb._bound_condition(tokens, bounds, rests, place + 1, need, depth - 1);
  v_with := ragdb._bound_condition(tokens, bounds, rests, place + 1, need - bounds[place],
    depth - 1);
  if v_with = '' then
    v_with := tokens[place];
  elsif v_with = v_without then
    return v_with;
  else
    v_with := '(' || tokens[place] || '&' || v_with || ')';
  end if;
  return case when v_without is null then v_with when v_with is null then v_without
    else '(' || v_with || '|' || v_without || ')' end;
end $$;
comment on function ragdb._bound_condition(text[], float8[], float8[], integer, float8, integer) is
  'Returns a tsquery, as text, that is true of every chunk whose terms, by their bounds from place '
  'on, can reach need; rests[i] is the sum of bounds from i on.';

-- The score that counts: float8, terms in the order of their lexemes, whatever their numbers are (a
-- CTE is read in the order of its rows). An impact is a float4 made of a small whole number, the
-- term's frequency, and gives it back exactly.
create or replace function ragdb._bm25(corpus ragdb.corpora, chunk_nos integer[],
  term_ids integer[], weights float8[])
returns table (chunk_no integer, bm25 float8, matched float8)
language sql stable parallel safe
begin atomic
  with terms as materialized (
    select t.weight, ragdb._sparse(t.term_id || ':1') as unit
    from rows from (pg_catalog.unnest(_bm25.term_ids), pg_catalog.unnest(_bm25.weights)) t (term_id,
      weight)
  )
  select x.chunk_no, s.bm25, s.matched
  from (
      select y.chunk_no, y.impacts,
        (corpus).k1 * (1 - (corpus).b + (corpus).b * y.lexeme_count / (corpus).pivot) as norm
      from ragdb.chunk_lexemes y
      where y.corpus_id = (corpus).corpus_id and y.chunk_no = any (_bm25.chunk_nos)
      offset 0) x
    cross join lateral (
      select coalesce(sum(f.weight * ((corpus).k1 + 1) * f.tf / (f.tf + x.norm)), 0) as bm25,
        coalesce(sum(f.weight), 0) as matched
      from (
        select t.weight,
          greatest(1, round(i.impact * x.norm / nullif((corpus).k1 + 1 - i.impact, 0))) as tf
        from terms t cross join lateral (select ragdb._inner_product(x.impacts, t.unit) as impact
          offset 0) i
        where i.impact > 0) f) s;
end;
comment on function ragdb._bm25(ragdb.corpora, integer[], integer[], float8[]) is
  'Returns the exact BM25 of chunks and the weight of the terms they have; weights are idf times '
  'query frequency, in the order of the sum.';

-- A need that some more groups reach than have to be looked at is sought by counting: sums fall off
-- about exponentially, as fast as their standard deviation says. The best of these groups show what
-- k chunks score; after them only groups that reach as much are looked at. Chunks that the blocks
-- do not know (newer, or indexed anew), and those with a word that no block has, are candidates
-- anyway.
create or replace function ragdb._find_in_blocks(
  corpus ragdb.corpora, state ragdb.block_states, sums vector[], most float8, loose tsquery,
    vector sparsevec,
  reach float8, k integer, out chunk_nos integer[], out scores float8[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_others integer[] := '{}';
  -- how many groups to find, and logarithms of such numbers
  v_fewest constant float8 := 1.2 * k;
  v_wanted constant float8 := 3 * k + 10;
  v_plenty constant float8 := 8 * k + 60;
  v_wanted_log constant float8 := ln(v_wanted);
  v_spread float8;
  v_low float8 := 0;
  v_low_log float8 := ln(state.last_chunk_no / 4 + v_wanted);
  v_high float8 := reach / most;
  v_high_log float8;
  v_guess float8;
  v_need float8;
  v_count bigint;
  v_bits bit varying[];
  v_group_nos integer[];
  v_bounds float8[];
  v_seen integer := 0;
  v_until integer;
  v_kth float8 := 0;
begin
  if loose is not null or state.last_chunk_no < corpus.next_chunk_no - 1
    or cardinality(state.stale_chunks) > 0 then
    select coalesce(array_agg(o.chunk_no order by o.score desc), '{}'),
      array_agg(o.score order by o.score desc)
    into v_others, scores
    from (
      select u.chunk_no, u.score
      from ragdb._candidates_among(corpus.corpus_id, state.stale_chunks
        || array(select generate_series(state.last_chunk_no + 1, corpus.next_chunk_no - 1)), null,
          vector, null) u
      union
      select l.chunk_no, l.score from ragdb._candidates(loose, vector, null) l) o;
    chunk_nos := v_others;
  end if;
  if sums is null then
    return;
  end if;
  v_spread := ragdb._spread(sums[1]);
  v_guess := v_spread * (v_low_log - v_wanted_log);
  for v_i in 1..10 loop
    v_need := greatest(v_low + 0.1 * (v_high - v_low),
      least(v_high - 0.1 * (v_high - v_low), v_guess));
    select g.groups, g.bits into v_count, v_bits from ragdb._groups_above(sums, v_need) g;
    exit when v_count between v_fewest and v_plenty or v_need * most < reach / 100;
    if v_count < v_fewest then
      v_high := v_need;
      v_high_log := ln(v_count + 0.5);
    else
      v_low := v_need;
      v_low_log := ln(v_count);
    end if;
    v_guess := case when v_high_log is null
      or v_low = 0 then v_need + v_spread * (ln(v_count + 0.5) - v_wanted_log)
      else v_low + (v_high - v_low) * (v_low_log - v_wanted_log) / (v_low_log - v_high_log) end;
  end loop;
  loop
    select g.group_nos, g.bounds into v_group_nos, v_bounds from ragdb._best_groups(sums, v_bits) g;
    v_count := coalesce(cardinality(v_group_nos), 0);
    while v_seen < v_count and v_bounds[v_seen + 1] * most >= v_kth loop
      v_until := case when v_seen = 0 then least(v_count, 2 * k + 4)
        else (select count(*) from unnest(v_bounds) b where b * most >= v_kth) end;
      select array_agg(c.chunk_no order by c.score desc),
        array_agg(c.score order by c.score desc) into chunk_nos, scores
      from (
        select g.chunk_no, g.score
        from ragdb._candidates_in_groups(corpus.corpus_id, v_group_nos[v_seen + 1 : v_until],
          vector) g
        where g.chunk_no <> all (v_others)
        union all
        select o.chunk_no, o.score from unnest(chunk_nos, scores) o (chunk_no, score)) c
      where c.score > 0 and c.score >= v_kth;
      v_seen := v_until;
      -- less by what float4 cannot tell apart, and by what its sums may fall short
      v_kth := coalesce(scores[k] * (1 - 2e-5::float8), 0);
    end loop;
    exit when v_need = 0 or v_kth >= v_need * most;
    v_need := case when v_kth > 0 then v_kth / most when v_need * most < reach / 100 then 0
      else v_need / 2 end;
    select g.bits into v_bits from ragdb._groups_above(sums, v_need) g;
  end loop;
end $$;
comment on function ragdb._find_in_blocks(ragdb.corpora, ragdb.block_states, vector[], float8,
  tsquery, sparsevec, float8, integer) is
  'Returns the k best chunks and what ties with the last by their scores in float4, best first: '
  'out of the groups of the blocks by their sums times most (null: there are none), of chunks that '
  'the blocks do not know and of those under the condition loose (null: none); reach is what a '
  'chunk can score at most.';

-- Few postings, or a list of chunks: score them all. Else the blocks, where the corpus has some
-- that know nearly all of its chunks and nothing else has to be met. Else a tsquery that lets
-- through what can reach the k-th score, which is guessed at first.
create or replace function ragdb._rank_lexical(
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
  if ragdb._has_clauses(query) then
    select string_agg(c.text, ' ') filter (where c.kind <> 'not') into v_text
      from ragdb._query_clauses(query) c;
    v_must := ragdb._query_condition(corpus, query);
  end if;
  select array_agg(t.term_id order by t.lexeme) filter (where t.df > 0),
    array_agg(t.weight order by t.lexeme) filter (where t.df > 0),
    array_agg(t.weight * t.max_impact order by t.lexeme) filter (where t.df > 0),
    array_agg(t.term_id) filter (where t.times is not null),
      array_agg(t.times) filter (where t.times is not null),
    coalesce(max(t.weight / (t.times * t.block_weight)), 1),
    string_agg(ragdb._token(corpus.corpus_id, t.term_id), '|') filter (where t.df > 0
      and t.times is null),
    ragdb._sparse(string_agg(t.term_id || ':' || t.weight::real, ',' order by t.lexeme)
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
      from unnest(ragdb._lexemes(v_text, corpus.text_config)) w
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
    v_among := ragdb._filtered_chunks(corpus.corpus_id, filter, chunk_ids,
      case when chunk_ids is null then 5001 end);
    if chunk_ids is null and cardinality(v_among) > 5000 then
      v_conditions := array(select to_jsonb(f) from ragdb._filter_conditions(filter) f);
      v_sql := ragdb._filter_joins(v_conditions) || ' and x.lexemes @@ $4';
    end if;
  elsif cardinality(v_among) > 20000 then
    v_sql := ' where x.lexemes @@ $4 and x.chunk_no = any ($6)';
  end if;
  if v_sql is not null then
    v_among := null;
    v_sql := 'select array_agg(q.chunk_no order by q.score desc),'
      ' array_agg(q.score order by q.score desc) from ('
      'select x.chunk_no, ragdb._inner_product(x.impacts, $2) as score from ragdb.chunk_lexemes x'
        || v_sql
      || ' order by 2 desc limit $5) q';
  end if;
  if v_ids is null or v_must is null then
    return;
  end if;
  -- what phrases and +words leave is mostly little
  if v_must like '%&(%' and v_among is null and v_sql is null and v_postings > 400 then
    v_among := ragdb._chunks_meeting(substr(v_must, 2)::tsquery, 5001);
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
      from ragdb._find_in_blocks(corpus, v_state,
        case when v_block_ids is not null then
          ragdb._block_sums(corpus.corpus_id, v_state.last_chunk_no,
            ragdb._levels(v_block_ids, v_block_times)) end,
        v_most, v_loose::tsquery, v_vector, v_reach, k) f;
    v_count := coalesce(cardinality(v_found), 0);
  else
    select array_agg(ragdb._token(corpus.corpus_id, t.id) order by t.bound desc, t.n),
      array_agg(t.bound order by t.bound desc, t.n), array_agg(t.rest order by t.bound desc, t.n)
    into v_tokens, v_bounds, v_rests
    from (select u.*, sum(u.bound) over (order by u.bound, u.n desc) as rest
      from unnest(v_ids, v_bounds) with ordinality u (id, bound, n)) t;
  end if;
  while v_state.corpus_id is null loop
    if v_among is not null then
      select array_agg(c.chunk_no order by c.score desc), array_agg(c.score order by c.score desc)
      into v_found, v_scores
      from ragdb._candidates_among(corpus.corpus_id, v_among,
        nullif(substr(v_must, 2), '')::tsquery, v_vector, v_limit) c;
    else
      v_condition := ragdb._bound_condition(v_tokens, v_bounds, v_rests, 1, v_need,
        case when cardinality(v_tokens) > 16 then 2 else 3 end);
      if v_condition = '' then
        v_condition := '(' || array_to_string(v_tokens, '|') || ')';
      end if;
      if v_sql is null then
        select array_agg(c.chunk_no order by c.score desc), array_agg(c.score order by c.score desc)
        into v_found, v_scores
        from ragdb._candidates((v_condition || v_must)::tsquery, v_vector, v_limit) c;
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
    from ragdb._bm25(corpus, v_found, v_ids, v_weights) b;
end $$;
comment on function ragdb._rank_lexical(ragdb.corpora, ragdb.corpora, text, integer, jsonb, text[],
  integer[], integer[]) is
  'Returns at least the k best chunks of a corpus (under a filter and chunk ids, or among the '
  'given) by BM25 over the most the query could reach, and those of also, in no order, with the '
  'raw BM25 and the share of the query''s idf that the chunk has. Raises RG410.';

create or replace function ragdb._rank_reference(
  corpus ragdb.corpora, query text, k integer, filter jsonb, chunk_ids text[])
returns table (chunk_no integer, score float8, bm25 float8, coverage float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tokens text[] := ragdb._reference_tokens(query);
  v_among integer[] := ragdb._filtered_chunks(corpus.corpus_id, filter, chunk_ids);
begin
  return query
    select j.chunk_no, j.score, null::float8, null::float8
    from (
      select c.chunk_no, c.chunk_id,
        ragdb._jaccard(v_tokens, ragdb._reference_tokens(c.text)) as score
      from ragdb.chunks c
      where c.corpus_id = corpus.corpus_id
        and (v_among is null or c.chunk_no in (select unnest(v_among)))) j
    where j.score > 0
    order by j.score desc, j.chunk_id
    limit k;
end $$;
comment on function ragdb._rank_reference(ragdb.corpora, text, integer, jsonb, text[]) is
  'Returns the k chunks whose sets of words are most alike the query''s (Jaccard, over 0), as the '
  'reference runtime ranks. Reads every chunk. Raises RG410.';

create or replace function ragdb._rank(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer, mode text, filter jsonb,
    chunk_ids text[],
  query_embedding real[], fusion text, lexical_weight float8)
returns setof ragdb.ranked
language plpgsql stable parallel restricted rows 20
set search_path = pg_catalog, pg_temp
as $$
begin
  if mode = 'lexical' then
    return query
      select l.chunk_no, l.score, l.score, null::float8, null::integer, null::integer, l.bm25,
        l.coverage, true
      from ragdb._rank_lexical(corpus, statistics, query, k, filter, chunk_ids) l;
  elsif mode = 'reference' then
    return query
      select r.chunk_no, r.score, null::float8, null::float8, null::integer, null::integer,
        null::float8, null::float8, true
      from ragdb._rank_reference(corpus, query, k, filter, chunk_ids) r;
  else
    return query
      select n.* from ragdb._rank_near(corpus, statistics, query, k, mode, filter, chunk_ids,
        query_embedding, fusion,
        lexical_weight) n;
  end if;
end $$;
comment on function ragdb._rank(ragdb.corpora, ragdb.corpora, text, integer, text, jsonb, text[],
  real[], text, float8) is
  'Returns at least the k best chunks of a corpus in a mode, in no order. Raises RG410, RG415, '
  'RG418.';

-- Definer: the tables of a corpus are granted to nobody; the caller's right is checked here, once
-- per corpus. Joins go by key (lateral, offset 0): the planner, which cannot know how few rows
-- rank, is left no other way.
create or replace function ragdb.search(
  corpora text[], query text, k integer default 10, mode text default null,
    min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
    lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_name text;
  v_corpus ragdb.corpora;
  v_ids integer[] := '{}';
  v_corpora ragdb.corpora[] := '{}';
  v_statistics ragdb.corpora;
  v_embedding constant real[] := ragdb._single(query_embedding);
  v_mode text;
begin
  if query is null or query !~ '\S' then
    raise exception 'query is %', case when query is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'a search needs at least one word',
        hint = 'pass the question as query';
  end if;
  if k is null or k not between 1 and 1000 then
    raise exception 'k is %', coalesce(k::text, 'null')
      using errcode = 'RG400', detail = 'k is the number of hits to return',
        hint = 'pass k from 1 to 1000';
  end if;
  if min_score is null or not min_score between 0 and 1 then
    raise exception 'min_score is %', coalesce(min_score::text, 'null')
      using errcode = 'RG400', detail = 'scores lie in [0, 1]', hint = 'pass min_score from 0 to 1';
  end if;
  if min_lexical is null or min_semantic is null
    or not (min_lexical between 0 and 1 and min_semantic between 0 and 1) then
    raise exception 'min_lexical is % and min_semantic %', coalesce(min_lexical::text, 'null'),
      coalesce(min_semantic::text, 'null')
      using errcode = 'RG400', detail = 'scores of a leg lie in [0, 1]',
        hint = 'pass floors from 0 to 1';
  end if;
  if fusion is null or fusion not in ('convex', 'rrf') or lexical_weight is null
    or not lexical_weight between 0 and 1 then
    raise exception 'fusion is % and lexical_weight %', ragdb._quote(fusion),
      coalesce(lexical_weight::text, 'null')
      using errcode = 'RG400', detail = 'the legs of a hybrid search are joined by convex or rrf',
            hint = 'pass convex or rrf, and the share of the lexical leg from 0 to 1';
  end if;
  if not ragdb._is_list(chunk_ids) then
    raise exception 'chunk_ids has a null, or more than one dimension'
      using errcode = 'RG400', detail = 'a list of chunks names each of them',
        hint = 'pass a plain list without nulls';
  end if;
  if corpora is null or cardinality(corpora) = 0 then
    raise exception 'corpora is %', case when corpora is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'a search needs at least one corpus',
            hint = 'ragdb.list_corpora() lists the names';
  end if;
  foreach v_name in array corpora loop
    v_corpus := ragdb._open_corpus(v_name, 'read');
    if v_corpus.corpus_id <> all (v_ids) then
      v_corpora := v_corpora || v_corpus;
      v_ids := v_ids || v_corpus.corpus_id;
    end if;
  end loop;
  if statistics is not null then
    v_statistics := ragdb._open_corpus(statistics, 'read');
  end if;
  if filter is not null then
    -- here, so that what is wrong with it is not told with the statements that it would have gone
    -- through
    perform ragdb._filter_conditions(filter);
  end if;
  v_mode := ragdb._search_mode(v_corpora, mode, query, v_embedding);
  return query
    with ranked as materialized (
      select c.corpus_id, c.name, r.*
      from unnest(v_corpora) c
        cross join lateral ragdb._rank(c,
          case when v_statistics is null then c else v_statistics end, search.query,
          search.k, v_mode, search.filter, search.chunk_ids, v_embedding, search.fusion,
          search.lexical_weight) r
      where r.score >= search.min_score and coalesce(r.lexical_score, 0) >= search.min_lexical
        and coalesce(r.semantic_score, 0) >= search.min_semantic
    )
    select t.rank, t.name, t.chunk_id, d.doc_cid, t.source, d.title, t.heading, t.page,
      t.start_offset, t.end_offset,
      t.text, t.citation, t.score, t.lexical_score, t.semantic_score,
      case when v_mode = 'lexical' then t.rank else t.lexical_rank end, t.semantic_rank, t.bm25,
        t.coverage,
      encode(t.content_hash, 'hex'), d.metadata, v_mode, t.is_exact
    from (
      select r.*, h.doc_no, h.chunk_id, h.source, h.heading, h.page, h.start_offset, h.end_offset,
        h.text, h.citation,
        h.content_hash,
        row_number() over (order by r.score desc, h.chunk_id, r.name)::integer as rank
      from ranked r
        cross join lateral (select c.* from ragdb.chunks c
          where c.corpus_id = r.corpus_id and c.chunk_no = r.chunk_no offset 0) h
      where r.score >= coalesce((select s.score from ranked s order by s.score desc
        limit 1 offset search.k - 1), 0)
      order by rank limit search.k) t
      cross join lateral (select o.* from ragdb.documents o
        where o.corpus_id = t.corpus_id and o.doc_no = t.doc_no offset 0) d
    order by t.rank;
end $$;
comment on function ragdb.search(text[], text, integer, text, float8, jsonb, text[], text, float8[],
  text, float8, float8, float8) is
  'Returns the k (1 to 1000) best chunks of several corpora for a query, in one order of scores in '
  '[0, 1], with the arguments of the search of one. Raises RG400, RG401, RG404, RG410, RG415, '
  'RG418.';

create or replace function ragdb.search(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
    lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0)
returns setof ragdb.hit
language sql stable parallel restricted
begin atomic
  select * from ragdb.search(array[search.corpus], search.query, search.k, search.mode,
    search.min_score,
    search.filter, search.chunk_ids, search.statistics, search.query_embedding, search.fusion,
      search.lexical_weight,
    search.min_lexical, search.min_semantic);
end;
comment on function ragdb.search(text, text, integer, text, float8, jsonb, text[], text, float8[],
  text, float8, float8, float8) is
  'Returns the k (1 to 1000) best chunks of a corpus for a query, by score (0 to 1, none below '
  'min_score), then chunk_id. mode is lexical, semantic, hybrid or reference, and when left out '
  'hybrid where the corpus has embeddings and the query one, given (query_embedding) or kept, else '
  'lexical. A hybrid search joins its legs by fusion (convex or rrf) with lexical_weight (0 to 1); '
  'min_lexical and min_semantic are floors for the legs, one that did not run counting 0. Raises '
  'RG400, RG401, RG404, RG410, RG415, RG418.';

create or replace function ragdb.explain_search(corpus text, query text, chunk_id text,
  statistics text default null)
returns table (lexeme text, df integer, query_frequency integer, idf float8, tf integer,
  impact float8, contribution float8, share float8)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(corpus, 'read');
  v_statistics ragdb.corpora := v_corpus;
  v_no integer;
  v_text text := query;
begin
  if query is null or query !~ '\S' then
    raise exception 'query is %', case when query is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'there is nothing to explain without a word',
        hint = 'pass the question as query';
  end if;
  if statistics is not null then
    v_statistics := ragdb._open_corpus(statistics, 'read');
  end if;
  select c.chunk_no into v_no from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = explain_search.chunk_id;
  if not found then
    raise exception 'chunk % does not exist', ragdb._quote(chunk_id)
      using errcode = 'RG406', detail = 'corpus ' || ragdb._quote(corpus) || ' has no such chunk',
            hint = 'ragdb.search() returns chunk ids';
  end if;
  if ragdb._has_clauses(query) then
    select string_agg(c.text, ' ') filter (where c.kind <> 'not') into v_text
      from ragdb._query_clauses(query) c;
  end if;
  return query
    with terms as (
      select w.lexeme collate "C" as lexeme, l.term_id, coalesce(s.df, 0) as df,
        cardinality(w.positions) as frequency,
        ln(1 + (v_statistics.chunks - coalesce(s.df, 0) + 0.5::float8)
          / (coalesce(s.df, 0) + 0.5::float8)) as idf
      from unnest(ragdb._lexemes(v_text, v_corpus.text_config)) w
        left join ragdb.lexemes l on l.corpus_id = v_corpus.corpus_id and l.lexeme = w.lexeme
        left join ragdb.lexemes s on s.corpus_id = v_statistics.corpus_id and s.lexeme = w.lexeme
    ), weighed as (
      select t.*, coalesce(p.tf, 0) as tf,
        coalesce((v_corpus.k1 + 1) * p.tf / (p.tf + v_corpus.k1
          * (1 - v_corpus.b + v_corpus.b * x.lexeme_count / v_corpus.pivot)), 0) as impact
      from terms t
        join ragdb.chunk_lexemes x on x.corpus_id = v_corpus.corpus_id and x.chunk_no = v_no
        left join lateral (
          select cardinality(u.positions) as tf from unnest(x.lexemes) u
          where u.lexeme = ragdb._token(v_corpus.corpus_id, t.term_id)) p on true
    )
    select w.lexeme, w.df, w.frequency, w.idf, w.tf, w.impact, w.frequency * w.idf * w.impact,
      w.frequency * w.idf * w.impact
        / nullif(sum(w.frequency * w.idf * w.impact) over (order by w.lexeme
        rows between unbounded preceding and unbounded following), 0)
    from weighed w order by 7 desc, 1;
end $$;
comment on function ragdb.explain_search(text, text, text, text) is
  'Returns a row for each term of a query: chunks that have it, idf, its frequency in a chunk, its '
  'impact (0 to k1 + 1), contribution to the BM25 and share of it (0 to 1). Raises RG400, RG401, '
  'RG404, RG406.';

-- Words are looked up in runs of letters and digits as they stand in the text, so that its
-- punctuation survives.
create or replace function ragdb.highlight(
  corpus text, chunk_id text, query text, start_mark text default '**', end_mark text default '**')
returns text
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(corpus, 'read');
  v_text text;
  v_asked text := query;
  v_lexemes text[];
  v_run record;
  v_marked text := '';
begin
  if query is null or start_mark is null or end_mark is null then
    raise exception '% is null',
      case when query is null then 'query' when start_mark is null then 'start_mark'
      else 'end_mark' end
      using errcode = 'RG400', detail = 'every argument of highlight() needs a value',
        hint = 'leave the marks out for **bold**';
  end if;
  select c.text into v_text from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = highlight.chunk_id;
  if not found then
    raise exception 'chunk % does not exist', ragdb._quote(chunk_id)
      using errcode = 'RG406', detail = 'corpus ' || ragdb._quote(corpus) || ' has no such chunk',
            hint = 'ragdb.search() returns chunk ids';
  end if;
  if ragdb._has_clauses(query) then
    select string_agg(c.text, ' ') filter (where c.kind <> 'not') into v_asked
      from ragdb._query_clauses(query) c;
  end if;
  v_lexemes := tsvector_to_array(ragdb._lexemes(coalesce(v_asked, ''), v_corpus.text_config));
  for v_run in
    select r.part[1] as gap, r.part[2] as word,
      tsvector_to_array(ragdb._lexemes(r.part[2], v_corpus.text_config)) && v_lexemes as hits
    from regexp_matches(v_text, '([^A-Za-z0-9' || ragdb._wordly() || ']*)([A-Za-z0-9'
      || ragdb._wordly() || ']*)', 'g') r (part)
  loop
    v_marked := v_marked || v_run.gap
      || case when v_run.hits then start_mark || v_run.word || end_mark else v_run.word end;
  end loop;
  return v_marked;
end $$;
comment on function ragdb.highlight(text, text, text, text, text) is
  'Returns the text of a chunk with the words that a query matches between two marks. Raises '
  'RG400, RG401, RG404, RG406.';
