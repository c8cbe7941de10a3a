-- Chunks read by what a filter asks or by their ids, in pages.
create or replace function ragdb.list_chunks(
  corpus text, filter jsonb default null, chunk_ids text[] default null, after text default '',
  count integer default 100)
returns setof ragdb.chunk
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_id constant integer := (ragdb_internal.open_corpus(list_chunks.corpus, 'read')).corpus_id;
  v_among integer[];
begin
  if after is null or count is null
      or count not between 1 and (ragdb_internal.limits()).page_rows then
    raise exception 'after is null, or count is not 1 to %', (ragdb_internal.limits()).page_rows
      using errcode = 'RG400', detail = 'count is ' || coalesce(count::text, 'null'),
        hint = 'for the next page, give the last chunk_id as after';
  elsif not ragdb_internal.is_list(chunk_ids) then
    raise exception 'chunk_ids has a null, or more than one dimension'
      using errcode = 'RG400', detail = 'a list of chunks names each of them',
        hint = 'pass a plain list without nulls';
  end if;
  v_among := ragdb_internal.filtered_chunks(v_id, filter, chunk_ids);
  -- one look-up for each number: of a corpus without statistics the planner would scan all of it
  return query
    select r.*
    from (
      select c.chunk_id
      from unnest(v_among) n (chunk_no) cross join lateral (
        select h.chunk_id from ragdb.chunks h
        where h.corpus_id = v_id and h.chunk_no = n.chunk_no offset 0) c
      where v_among is not null and c.chunk_id > after collate "C"
      union all
      (select h.chunk_id from ragdb.chunks h
        where v_among is null and h.corpus_id = v_id and h.chunk_id > after collate "C"
        order by h.chunk_id collate "C" limit count)
      order by 1 limit count) p
      cross join lateral ragdb_internal.chunk_rows(v_id, null, p.chunk_id) r
    order by r.chunk_id collate "C";
end $$;
comment on function ragdb.list_chunks(text, jsonb, text[], text, integer) is
  'Lists the chunks of a corpus by their ids: those that a filter leaves, among some ids or all '
  '(null), that come after a given one, at most count (1 to 10000). Ids that no chunk has are '
  'passed over. Raises RG400, RG404, RG410.';
