-- How much matches a query, and how it spreads over the values of fields: exact counts over every
-- chunk that a lexical search could return, however many there are.

-- Returns the chunks of a corpus that have a word of a query, and what it demands, under a filter;
-- all under the filter for a query that is null, and null for all. Raises RG400, RG410.
create or replace function ragdb_internal.matching_chunks(
  corpus ragdb.corpora, query text, filter jsonb, syntax text)
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_words constant text := ragdb_internal.read_query(query, syntax);
  v_among constant integer[] := ragdb_internal.filtered_chunks(corpus.corpus_id, filter, null);
  v_demands ragdb_internal.demand[];
  v_question ragdb_internal.question;
  v_weights ragdb.chunk_lexemes.impacts%type;
  v_holding integer[];
begin
  if query is null then
    return case when corpus.chunks = 0 then '{}' else v_among end;
  end if;
  v_demands := ragdb_internal.demands(corpus, v_words);
  -- of a corpus without chunks no word was meant
  if v_demands is null or corpus.chunks = 0 then
    return '{}';
  end if;
  v_question := ragdb_internal.question(corpus, corpus, v_words, true);
  if v_question.terms is null then
    return '{}';
  end if;
  v_weights := ragdb_internal.sparse(v_question.weights);
  v_holding := coalesce(ragdb_internal.chunks_demanded(corpus.corpus_id, v_demands), (
    select ragdb_internal.chunks_holding(corpus.corpus_id, array_agg(t.term_id), array_agg(1))
    from unnest(v_question.terms) t));
  return ragdb_internal.meeting(corpus, v_demands, array(
    select x.chunk_no from ragdb.chunk_lexemes x
    where x.corpus_id = corpus.corpus_id and x.chunk_no = any (v_holding)
      and ragdb_internal.inner_product(v_weights, x.impacts) > 0
      and (v_among is null or x.chunk_no in (select unnest(v_among)))));
end $$;

-- Returns the statement that counts documents and chunks of corpus $1, all or those in the list $2,
-- by the number and the values of fields, whose keys in the metadata are $3; each item of an array
-- by itself. What chunks say, such as pages, is counted among chunks, and what documents say once a
-- document, so that no value has to be told from itself. Values are hashed: to sort some of type
-- jsonb takes longer than all the rest.
create or replace function ragdb_internal.count_sql(fields text[], is_listed boolean)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_listed constant text := case when is_listed then ' and c.chunk_no = any ($2)' else '' end;
  v_values text;
  v_of_chunks text;
begin
  select string_agg(format('(%s, to_jsonb(%s))', a.n,
        coalesce(f.facet_sql, format('d.metadata -> $3[%s]', a.n))), ', ' order by a.n)
      filter (where f.of_chunks is not true),
    string_agg(format('select %s, to_jsonb(v.value), count(*), sum(v.chunks)::bigint'
      ' from (select %s as value, count(*) as chunks from ragdb.chunks c'
      ' where c.corpus_id = $1%s group by 1, c.doc_no) v where v.value is not null group by 2',
      a.n, f.facet_sql, v_listed), ' union all ') filter (where f.of_chunks)
    into v_values, v_of_chunks
    from unnest(fields) with ordinality a (field, n)
      left join ragdb_internal.filter_fields() f on f.field = a.field;
  return concat_ws(' union all ',
    'select v.n, v.value, count(*), sum(v.chunks)::bigint from ('
    ' select f.n, m.chunks, unnest(case jsonb_typeof(f.value)'
    ' when ''array'' then array(select distinct e from jsonb_array_elements(f.value) e)'
    ' else array[f.value] end) as value from ragdb.documents d '
    || case when is_listed then 'join (select c.doc_no, count(*) as chunks from ragdb.chunks c'
      ' where c.corpus_id = $1' || v_listed || ' group by 1) m using (doc_no)'
      else 'cross join lateral (select d.chunks) m' end
    || ' cross join lateral (values ' || v_values || ') f (n, value)'
    ' where d.corpus_id = $1 and m.chunks > 0 and f.value is not null) v group by 1, 2',
    v_of_chunks);
end $$;

-- Counts the documents and chunks among some of a corpus (null: all) by the number and the values
-- of fields, each item of an array by itself.
create or replace function ragdb_internal.count_values(
  corpus_id integer, chunk_nos integer[], fields text[])
returns table (n integer, value jsonb, documents bigint, chunks bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_sort = off
as $$
begin
  if cardinality(chunk_nos) = 0 then
    return;
  end if;
  return query execute ragdb_internal.count_sql(fields, chunk_nos is not null)
    using corpus_id, chunk_nos, array(
      select ragdb_internal.metadata_key(f.field) from unnest(fields) with ordinality f (field, n)
      order by f.n);
end $$;

-- Refuses arguments of ragdb.facets that are null or out of range. Raises RG400.
create or replace function ragdb_internal.check_facets(
  query text, fields text[], syntax text, most_values integer)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if query is not null then
    perform ragdb_internal.check_query(query);
  end if;
  perform ragdb_internal.check_syntax(syntax);
  if fields is null or not ragdb_internal.is_list(fields)
    or cardinality(fields) not between 1 and 20
  then
    raise exception 'fields is null, empty, too long or no list'
      using errcode = 'RG400', detail = 'they say what is counted by',
            hint = 'pass 1 to 20 names such as source, language or a key of the metadata';
  elsif most_values is null or most_values not between 1 and 10000 then
    raise exception 'most_values is %', coalesce(most_values::text, 'null')
      using errcode = 'RG400', detail = 'it is how many values of a field are returned',
            hint = 'pass 1 to 10000';
  end if;
end $$;

-- Definer, like ragdb.search.
create or replace function ragdb.facets(
  corpora text[] default null, query text default null, fields text[] default null,
  filter jsonb default null, most_values integer default 100, syntax text default 'plain')
returns table (field text, value jsonb, documents bigint, chunks bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fields text[];
  v_empty text[];
  v_corpora ragdb.corpora[];
begin
  perform ragdb_internal.check_facets(query, fields, syntax, most_values);
  v_fields := array(select f.field from unnest(fields) with ordinality f (field, n)
    group by f.field order by min(f.n));
  v_empty := v_fields;
  v_corpora := ragdb_internal.open_corpora(corpora);
  for field, value, documents, chunks in
    with counted as materialized (
      select v.n, v.value, sum(v.documents)::bigint as documents, sum(v.chunks)::bigint as chunks,
        case jsonb_typeof(v.value) when 'number' then v.value::numeric end as number
      from unnest(v_corpora) c
        cross join lateral ragdb_internal.count_values(c.corpus_id,
          ragdb_internal.matching_chunks(c, facets.query, facets.filter, facets.syntax),
          v_fields) v
      group by v.n, v.value)
    select f.field, r.value, r.documents, r.chunks
    from unnest(v_fields) with ordinality f (field, n)
      cross join lateral (
        select * from counted o where o.n = f.n
        -- by the bytes of the value: how jsonb compares texts is the locale's
        order by o.documents desc, o.chunks desc, o.number, o.value::text collate "C"
        limit most_values) r
    order by f.n, r.documents desc, r.chunks desc, r.number, r.value::text collate "C"
  loop
    v_empty := array_remove(v_empty, field);
    return next;
  end loop;
  if v_empty = v_fields then
    perform ragdb_internal.say_filtered(v_corpora, filter);
  end if;
  perform ragdb_internal.say_unknown(v_corpora, v_empty);
end $$;
comment on function ragdb.facets(text[], text, text[], jsonb, integer, text) is
  'Counts the documents and chunks of several corpora (null: all that the caller may read) '
  'together, with the arguments of the facets of one. Raises RG400, RG401, RG404, RG410.';

create or replace function ragdb.facets(
  corpus text, query text, fields text[], filter jsonb default null,
  most_values integer default 100, syntax text default 'plain')
returns table (field text, value jsonb, documents bigint, chunks bigint)
language sql stable
begin atomic
  select * from ragdb.facets(
    case when facets.corpus is not null then array[facets.corpus] end, facets.query,
    facets.fields, facets.filter, facets.most_values, facets.syntax);
end;
comment on function ragdb.facets(text, text, text[], jsonb, integer, text) is
  'Counts the documents and chunks of a corpus (null: all that the caller may read) that match a '
  'query (null: everything), exactly and by the values of 1 to 20 fields, those of a filter, '
  'each item of an array by itself; of each field the most_values (1 to 10000) that most '
  'documents have. What matches has a word of the query, and in syntax web what it demands. A '
  'notice says which fields no document has. Raises RG400, RG401, RG404, RG410.';

-- Counts the documents and chunks among some chunks of a corpus (null: all). The list is an
-- argument of a statement: only there is it hashed.
create or replace function ragdb_internal.count_listed(
  corpus_id integer, chunk_nos integer[], out documents bigint, out chunks bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  if chunk_nos is null then
    select count(*), coalesce(sum(d.chunks), 0) into documents, chunks from ragdb.documents d
      where d.corpus_id = count_listed.corpus_id and d.chunks > 0;
  elsif cardinality(chunk_nos) = 0 then
    select 0, 0 into documents, chunks;
  else
    select count(distinct c.doc_no), count(*) into documents, chunks from ragdb.chunks c
      where c.corpus_id = count_listed.corpus_id and c.chunk_no = any (count_listed.chunk_nos);
  end if;
end $$;

-- Definer, like ragdb.search.
create or replace function ragdb.count_matches(
  corpora text[] default null, query text default null, filter jsonb default null,
  syntax text default 'plain')
returns table (documents bigint, chunks bigint)
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora ragdb.corpora[];
begin
  perform ragdb_internal.check_facets(query, '{source}', syntax, 1);
  v_corpora := ragdb_internal.open_corpora(corpora);
  select coalesce(sum(n.documents), 0), coalesce(sum(n.chunks), 0) into documents, chunks
    from unnest(v_corpora) c
      cross join lateral ragdb_internal.count_listed(c.corpus_id, ragdb_internal.matching_chunks(
        c, count_matches.query, count_matches.filter, count_matches.syntax)) n;
  if chunks = 0 then
    perform ragdb_internal.say_filtered(v_corpora, filter);
  end if;
  return next;
end $$;
comment on function ragdb.count_matches(text[], text, jsonb, text) is
  'Counts the documents and chunks of several corpora (null: all that the caller may read) that '
  'match a query (null: everything) under a filter, as ragdb.facets does. Raises RG400, RG401, '
  'RG404, RG410.';

create or replace function ragdb.count_matches(
  corpus text, query text, filter jsonb default null, syntax text default 'plain')
returns table (documents bigint, chunks bigint)
language sql stable rows 1
begin atomic
  select * from ragdb.count_matches(
    case when count_matches.corpus is not null then array[count_matches.corpus] end,
    count_matches.query, count_matches.filter, count_matches.syntax);
end;
comment on function ragdb.count_matches(text, text, jsonb, text) is
  'Counts the documents and chunks of a corpus (null: all that the caller may read) that match a '
  'query (null: everything) under a filter, as ragdb.facets does. Raises RG400, RG401, RG404, '
  'RG410.';
