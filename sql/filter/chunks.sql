-- Which chunks a filter leaves. Its conditions become SQL over documents d and chunks c, which is
-- made of the templates of ragdb_internal.filter_operators and of numbers; names and values of the
-- caller stay in $1, the array of conditions.

-- Whether a condition of a filter is such that only turns meet it: its field is of turns (null: it
-- is not built in), and what is null does not meet its operator.
create or replace function ragdb_internal.only_turns_meet(of_turns boolean, meets_null boolean)
returns boolean
language sql immutable parallel safe
return coalesce(of_turns, false) and not meets_null;

-- Returns the SQL by which a text is a value of a type.
create or replace function ragdb_internal.typed(of_text text, type text) returns text
language sql immutable parallel safe
return case typed.type when 'number' then '(' || of_text || ')::numeric'
  when 'time' then 'ragdb_internal.utc_time(' || of_text || ')' else of_text end;

-- Returns what conditions of a filter, given as $1, demand of documents d and chunks c, or of one
-- of them, or what those demand of turns t that only turns meet; null for nothing.
create or replace function ragdb_internal.filter_sql(
  conditions jsonb[], rows_of text default null)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select string_agg('(' || replace(replace(replace(
        t.sql,
        '{json}', '($1[' || t.n || '] -> ''value'')'),
        '{text}', '($1[' || t.n || '] ->> ''value'')'),
        '{key}', 'ragdb_internal.metadata_key($1[' || t.n || '] ->> ''field'')') || ')',
        ' and ' order by t.n)
    from (
      select c.n, replace(replace(replace(replace(replace(
        case when f.field is null then o.of_metadata
          else replace(o.of_column, '{met}', replace(f.condition_sql, '{condition}', o.of_value))
          end,
        '{some} and ', case when filter_sql.rows_of is null then ''
          else ragdb_internal.some_item() || ' and ' end),
        '{plain} or ', case when filter_sql.rows_of is null then ''
          else ragdb_internal.plain_items() || ' or ' end),
        '{field}', coalesce(
          case when f.of_turns and filter_sql.rows_of is distinct from 'turns'
            then ragdb_internal.said(f.column_sql, f.given_sql) else f.column_sql end,
          'case when pg_catalog.jsonb_typeof(d.metadata -> {key}) = '
          || case v.type when 'number' then '''number'' then (d.metadata ->> {key})::numeric end'
            else '''string'' then (d.metadata ->> {key}) collate "C" end' end)),
        '{value}', ragdb_internal.typed('{text}', v.type)),
        '{items}', 'array(select ' || ragdb_internal.typed('e', v.type)
          || ' from pg_catalog.jsonb_array_elements_text({json}) e)')
        || case filter_sql.rows_of when 'turns' then coalesce(' and ' || f.given_sql, '')
          else '' end as sql
      from unnest(conditions) with ordinality c (condition, n)
        join ragdb_internal.filter_operators() o on o.operator = c.condition ->> 'operator'
        left join ragdb_internal.filter_fields() f on f.field = c.condition ->> 'field'
        cross join lateral (
          select coalesce(f.type, jsonb_typeof(c.condition -> 'value'))) v (type)
      where case filter_sql.rows_of
        when 'turns' then ragdb_internal.only_turns_meet(f.of_turns, o.meets_null)
        when 'chunks' then f.of_chunks
        when 'documents' then f.of_chunks is not true
        else true end) t);
end $$;

-- Whether all conditions of a filter are such that only turns meet them, by what turns say.
create or replace function ragdb_internal.are_of_turns(conditions jsonb[]) returns boolean
language sql immutable parallel safe
return not exists (
  select from pg_catalog.unnest(are_of_turns.conditions) c (condition)
    join ragdb_internal.filter_operators() o on o.operator = c.condition ->> 'operator'
    left join ragdb_internal.filter_fields() f on f.field = c.condition ->> 'field'
  where not ragdb_internal.only_turns_meet(f.of_turns, o.meets_null));

-- Returns the joins and the condition by which rows x, of corpus_id and chunk_no, meet conditions
-- of a filter, given as $1. To look up the chunk and its document takes twice as long as its turn.
create or replace function ragdb_internal.filter_joins(conditions jsonb[]) returns text
language sql immutable parallel safe
return case when ragdb_internal.are_of_turns(filter_joins.conditions)
    then ' cross join lateral (select x.corpus_id, x.chunk_no) c'
    else ' cross join lateral (select h.corpus_id, h.chunk_no, h.doc_no, h.page from ragdb.chunks h'
      ' where h.corpus_id = x.corpus_id and h.chunk_no = x.chunk_no offset 0) c'
      ' cross join lateral (select o.* from ragdb.documents o'
      ' where o.corpus_id = x.corpus_id and o.doc_no = c.doc_no offset 0) d' end
  || ' where ' || ragdb_internal.filter_sql(filter_joins.conditions);

-- Returns the numbers of the chunks of a corpus that have one of some ids, each once, in no order.
-- Without statistics of a corpus the planner takes a scan of all of it for as good, and that
-- compares every chunk with every id: force one look-up for each id.
create or replace function ragdb_internal.chunk_numbers(corpus_id integer, chunk_ids text[])
returns integer[]
language sql stable parallel safe
return array(
  select c.chunk_no
  from (select distinct i.chunk_id from pg_catalog.unnest(chunk_numbers.chunk_ids) i (chunk_id)) i
    cross join lateral (select h.chunk_no from ragdb.chunks h
      where h.corpus_id = chunk_numbers.corpus_id and h.chunk_id = i.chunk_id offset 0) c);

-- Whether an index has the chunks that meet a condition of a filter: that over metadata, or one of
-- turns.
create or replace function ragdb_internal.is_found_by_index(conditions jsonb[]) returns boolean
language sql immutable parallel safe
return exists (
  select from pg_catalog.unnest(is_found_by_index.conditions) c (condition)
    join ragdb_internal.filter_operators() o on o.operator = c.condition ->> 'operator'
    left join ragdb_internal.filter_fields() f on f.field = c.condition ->> 'field'
  where case when f.field is null then o.uses_index
    else ragdb_internal.only_turns_meet(f.of_turns, o.meets_null) end);

-- Tells whether the index over metadata finds the documents of a filter better than with an index
-- that knows corpora. The index over metadata knows nothing of corpora. Where most documents are
-- this one's it is better alone: to join it with an index that does takes as long as reading that
-- one whole.
create or replace function ragdb_internal.prefers_metadata_index(
  corpus_id integer, conditions jsonb[])
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
      select from unnest(conditions) c (condition)
        join ragdb_internal.filter_operators() o on o.operator = c.condition ->> 'operator'
      where o.uses_index and not exists (
        select from ragdb_internal.filter_fields() f where f.field = c.condition ->> 'field'))
    and (
      select 2 * p.documents > r.reltuples
      from ragdb.corpora p, pg_class r
      where p.corpus_id = prefers_metadata_index.corpus_id
        and r.oid = 'ragdb.documents'::regclass);
end $$;

-- Returns those of the given chunks of a corpus that meet the conditions of a filter.
create or replace function ragdb_internal.meeting_conditions(
  corpus_id integer, conditions jsonb[], chunk_nos integer[])
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_chunk_nos integer[];
begin
  execute 'select array(select x.chunk_no'
    ' from (select $2 as corpus_id, n as chunk_no from unnest($3) n) x'
    || ragdb_internal.filter_joins(conditions) || ')'
    into v_chunk_nos
    using conditions, meeting_conditions.corpus_id, meeting_conditions.chunk_nos;
  return v_chunk_nos;
end $$;

-- Returns the chunks of a corpus, at most so many (null: all), that meet the conditions of a
-- filter, found by their turns; null where that does not take less time than to look at all. A look
-- at the turn of every chunk takes 1 µs. The indexes of turns are by an expression, and only a
-- plain scan of one ends where enough are found.
create or replace function ragdb_internal.chunks_of_turns(
  corpus_id integer, conditions jsonb[], most integer)
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_few constant integer := 2000;
  v_are_all constant boolean := ragdb_internal.are_of_turns(conditions);
  v_turns constant text := ragdb_internal.filter_sql(conditions, 'turns');
  v_chunk_nos integer[];
begin
  if v_turns is not null then
    execute 'select array(select t.chunk_no from ragdb.turns t where t.corpus_id + 0 = $2 and '
      || v_turns || ' limit $3)'
      into v_chunk_nos
      using conditions, chunks_of_turns.corpus_id, case when v_are_all then most else v_few end;
    if v_are_all then
      return v_chunk_nos;
    elsif cardinality(v_chunk_nos) < v_few then
      return (ragdb_internal.meeting_conditions(
        chunks_of_turns.corpus_id, conditions, v_chunk_nos))[:coalesce(most, v_few)];
    end if;
  end if;
  return null;
end $$;

-- Returns the chunks of a corpus that a filter and a list of chunk ids leave, of a filter alone at
-- most so many (null: all); null when there is neither. An index over metadata passes over rows
-- where a session lets it (gin_fuzzy_search_limit). The plans of what reads the filter are kept: to
-- make them takes longer than to find the chunks. Raises RG410.
create or replace function ragdb_internal.filtered_chunks(
  corpus_id integer, filter jsonb, chunk_ids text[], most integer default null)
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set gin_fuzzy_search_limit = 0
set plan_cache_mode = force_generic_plan
as $$
declare
  v_conditions jsonb[];
  v_documents text;
  v_chunks text;
  v_chunk_nos integer[];
begin
  if chunk_ids is not null then
    v_chunk_nos := ragdb_internal.chunk_numbers(
      filtered_chunks.corpus_id, filtered_chunks.chunk_ids);
  end if;
  if filter is null or filter = '{}' then
    return v_chunk_nos;
  end if;
  v_conditions := ragdb_internal.condition_array(filter);
  if v_chunk_nos is not null then
    return ragdb_internal.meeting_conditions(
      filtered_chunks.corpus_id, v_conditions, v_chunk_nos);
  end if;
  v_chunk_nos := ragdb_internal.chunks_of_turns(
    filtered_chunks.corpus_id, v_conditions, filtered_chunks.most);
  if v_chunk_nos is not null then
    return v_chunk_nos;
  end if;
  v_documents := ragdb_internal.filter_sql(v_conditions, 'documents');
  v_chunks := ragdb_internal.filter_sql(v_conditions, 'chunks');
  -- the chunks of a list of documents in one scan cost a third less than a scan for each
  execute 'select array(select c.chunk_no from ragdb.chunks c where c.corpus_id = $2'
    || coalesce(' and c.doc_no = any (array('
      'select d.doc_no from ragdb.documents d where d.chunks > 0 and '
      || case when ragdb_internal.prefers_metadata_index(filtered_chunks.corpus_id, v_conditions)
        then '(d.corpus_id = $2) is true' else 'd.corpus_id = $2' end
      || ' and ' || v_documents
      || case when v_chunks is null then ' limit $3' else '' end || '))', '')
    || coalesce(' and ' || v_chunks, '') || ' limit $3)'
  into v_chunk_nos using v_conditions, filtered_chunks.corpus_id, most;
  return v_chunk_nos;
end $$;
