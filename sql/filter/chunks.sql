-- A filter as a condition on documents d and chunks c. The text is made of the pieces below and of
-- numbers; names and values of the caller stay in $1, the array of conditions.
create or replace function ragdb_internal.filter_sql(conditions jsonb[], of_chunks boolean default null)
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
            when 'glob' then '{F} like ragdb_internal.glob_pattern({T})'
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
              || ' and (d.metadata ->> {K}) like ragdb_internal.glob_pattern({T})'
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
      from pg_catalog.unnest(filter_sql.conditions) with ordinality c (condition, n)
      where filter_sql.of_chunks is null
        or filter_sql.of_chunks = (c.condition ->> 'field' = 'page')
    ) r
    cross join lateral (select pg_catalog.replace(pg_catalog.replace(r.raw,
      '{X}', case r.field when 'page' then '({T})::numeric' else '{T}' end),
      '{E}', case r.field when 'page' then 'e::numeric' else 'e' end) as template, r.n, r.field,
        r.is_builtin) f
  ) e;
end;
comment on function ragdb_internal.filter_sql(jsonb[], boolean) is
  'Returns what conditions of a filter, given as $1, demand of documents d and chunks c, or of '
  'only one of them; null for nothing.';

-- By key too, for chunks that are known: rows x of corpus_id and chunk_no go before it.
create or replace function ragdb_internal.filter_joins(conditions jsonb[]) returns text
language sql immutable parallel safe
return ' cross join lateral (select h.doc_no, h.page from ragdb.chunks h'
  ' where h.corpus_id = x.corpus_id and h.chunk_no = x.chunk_no offset 0) c'
  ' cross join lateral (select o.* from ragdb.documents o'
  ' where o.corpus_id = x.corpus_id and o.doc_no = c.doc_no offset 0) d'
  ' where ' || ragdb_internal.filter_sql(filter_joins.conditions);
comment on function ragdb_internal.filter_joins(jsonb[]) is
  'Returns the joins and the condition by which rows x, of corpus_id and chunk_no, meet conditions '
  'of a filter, given as $1.';

-- By key, one by one: of a corpus the planner knows so little that a walk through all of it looks
-- as good, and that compares every chunk with every id.
create or replace function ragdb_internal.chunk_numbers(corpus_id integer, chunk_ids text[])
  returns integer[]
language sql stable parallel safe
return array(
  select c.chunk_no
  from (select distinct i.chunk_id from pg_catalog.unnest(chunk_numbers.chunk_ids) i (chunk_id)) i
    cross join lateral (select h.chunk_no from ragdb.chunks h
      where h.corpus_id = chunk_numbers.corpus_id and h.chunk_id = i.chunk_id offset 0) c);
comment on function ragdb_internal.chunk_numbers(integer, text[]) is
  'Returns the numbers of the chunks of a corpus that have one of some ids, each once, in no '
  'order.';

create or replace function ragdb_internal.filtered_chunks(
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
    v_chunk_nos := ragdb_internal.chunk_numbers(filtered_chunks.corpus_id, filtered_chunks.chunk_ids);
  end if;
  if filter is null or filter = '{}' then
    return v_chunk_nos;
  end if;
  v_conditions := array(select to_jsonb(f) from ragdb_internal.filter_conditions(filter) f);
  if v_chunk_nos is not null then
    execute 'select array(select x.chunk_no'
      ' from (select $2 as corpus_id, n as chunk_no from unnest($3) n) x'
      || ragdb_internal.filter_joins(v_conditions) || ' limit $4)'
    into v_chunk_nos using v_conditions, filtered_chunks.corpus_id, v_chunk_nos, most;
    return v_chunk_nos;
  end if;
  -- The index over metadata knows nothing of corpora. Where most documents are this one's it is
  -- better alone: to join it with an index that does takes as long as reading that one whole.
  v_is_alone := exists (select from unnest(v_conditions) c (condition)
      where not (condition ->> 'is_builtin')::boolean and condition ->> 'operator' in ('eq', 'all'))
    and (select 2 * p.documents > r.reltuples from ragdb.corpora p, pg_class r
      where p.corpus_id = filtered_chunks.corpus_id and r.oid = 'ragdb.documents'::regclass);
  v_documents := ragdb_internal.filter_sql(v_conditions, of_chunks => false);
  v_chunks := ragdb_internal.filter_sql(v_conditions, of_chunks => true);
  -- the chunks of a list of documents in one scan cost a third less than a scan for each
  execute 'select array(select c.chunk_no from ragdb.chunks c where c.corpus_id = $2'
    || coalesce(' and c.doc_no = any (array('
      'select d.doc_no from ragdb.documents d where d.chunks > 0 and '
      || case when v_is_alone then '(d.corpus_id = $2) is true' else 'd.corpus_id = $2' end
      || ' and ' || v_documents
      || case when v_chunks is null then ' limit $3' else '' end || '))', '')
    || coalesce(' and ' || v_chunks, '') || ' limit $3)'
  into v_chunk_nos using v_conditions, filtered_chunks.corpus_id, most;
  return v_chunk_nos;
end $$;
comment on function ragdb_internal.filtered_chunks(integer, jsonb, text[], integer) is
  'Returns the chunks of a corpus that a filter and a list of chunk ids leave, at most so many '
  '(null: all); null when there is neither. Raises RG410.';
