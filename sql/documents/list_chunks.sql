-- Chunks read by what a filter asks or by their ids, in pages.

-- Returns the ids of the next chunks of a corpus, among some or all (null), in their order. One
-- look-up for each number: of a corpus without statistics the planner would scan all of it.
create or replace function ragdb_internal.page_of_chunks(
  corpus_id integer, among integer[], after text, count integer)
returns table (chunk_id text)
language sql stable parallel safe
begin atomic
  select p.chunk_id from (
    select c.chunk_id
    from pg_catalog.unnest(page_of_chunks.among) n (chunk_no) cross join lateral (
      select h.chunk_id from ragdb.chunks h
      where h.corpus_id = page_of_chunks.corpus_id and h.chunk_no = n.chunk_no offset 0) c
    where page_of_chunks.among is not null and c.chunk_id > page_of_chunks.after collate "C"
    union all
    (select h.chunk_id from ragdb.chunks h
      where page_of_chunks.among is null and h.corpus_id = page_of_chunks.corpus_id
        and h.chunk_id > page_of_chunks.after collate "C"
      order by h.chunk_id collate "C" limit page_of_chunks.count)) p
  order by 1 limit page_of_chunks.count;
end;

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
  -- what is named and cannot be read is passed over as what is not there
  v_corpora constant ragdb.corpora[] := ragdb_internal.parts_or_itself(
    ragdb_internal.open_corpus(list_chunks.corpus, 'read', true), chunk_ids is not null);
begin
  perform ragdb_internal.check_listed(coalesce(count, 1), 'chunks');
  if after is null then
    raise exception 'after is null'
      using errcode = 'RG400', detail = 'it is empty for the first page',
        hint = 'for the next page, give the last chunk_id as after';
  elsif not ragdb_internal.is_list(chunk_ids) then
    perform ragdb_internal.refuse_chunk_ids();
  end if;
  return query
    select r.*
    from (
      select c.corpus_id, p.chunk_id
      from unnest(v_corpora) c
        cross join lateral ragdb_internal.page_of_chunks(c.corpus_id,
          ragdb_internal.filtered_chunks(c.corpus_id, filter, chunk_ids), after, count) p
      order by p.chunk_id collate "C" fetch first (coalesce(count, 2147483647)) rows with ties) p
      cross join lateral ragdb_internal.chunk_by_id(p.corpus_id, p.chunk_id) r
    order by r.chunk_id collate "C";
end $$;
comment on function ragdb.list_chunks is
  'Lists the chunks of a corpus by their ids: those that a filter leaves, among some ids or all '
  '(null), that come after a given one, at most count (1 to 10000; null: all), and what other '
  'parts have under the last id. Ids that no chunk has are passed over. Raises RG400, RG404, '
  'RG410.';
