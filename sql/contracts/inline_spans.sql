-- Markers such as [1] in an answer, read as grounding spans.

-- Cuts an answer into its [n] markers and what is said between them; either marker or said is null.
create or replace function ragdb_internal.marked(answer text)
returns table (n bigint, marker text, said text)
language sql immutable parallel safe
begin atomic
  select p.n, p.part[1], p.part[2]
  from pg_catalog.regexp_matches(marked.answer,
    '(\[[0-9]{1,6}(?:[ \t]*,[ \t]*[0-9]{1,6})*\])|([^\[]+|\[)', 'g') with ordinality p (part, n);
end;

-- Returns the numbers of the [n] markers of an answer, each with the range of the text it grounds
-- and its own place, from 0. Each marker grounds the text since the one before it; markers with
-- nothing but punctuation between them ground the same text. The answer is cut up once: to look for
-- each marker anew would read it as often as it has markers.
create or replace function ragdb_internal.markers(answer text)
returns table (n integer, start_offset integer, end_offset integer, marker_offset integer)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from integer := 0;
  v_marker record;
begin
  for v_marker in
    select p.nth, coalesce(string_agg(p.said, '' order by p.n), '') as gap, max(p.marker) as marker,
      max(p.stop)::integer as stop
    from (
      select t.*, sum(length(coalesce(t.marker, t.said))) over (order by t.n) as stop,
        count(t.marker) over (order by t.n rows between unbounded preceding and 1 preceding) as nth
      from ragdb_internal.marked(answer) t) p
    group by p.nth having max(p.marker) is not null order by p.nth
  loop
    if v_marker.gap !~ E'^[ \\t.,;:!?、，。；：！？،؛؟।]*$' or v_from = 0 then
      start_offset := v_from + length(v_marker.gap)
        - length(regexp_replace(v_marker.gap, '^[[:space:].!?。！？؟।]+', ''));
      end_offset := v_from + length(regexp_replace(v_marker.gap, '[[:space:]]+$', ''));
    end if;
    marker_offset := v_marker.stop - length(v_marker.marker);
    return query select m.n::integer, markers.start_offset, markers.end_offset,
      markers.marker_offset
      from regexp_split_to_table(btrim(v_marker.marker, '[]'), E'[ \\t]*,[ \\t]*') m (n);
    v_from := v_marker.stop;
  end loop;
end $$;

-- Definer: what it calls is private.
create or replace function ragdb.inline_spans(answer text, chunk_ids text[]) returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_marker record;
begin
  if answer is null or chunk_ids is null or not ragdb_internal.is_list(chunk_ids) then
    raise exception '%',
        case when answer is null then 'answer is null'
          else 'chunk_ids is null or not a plain list' end
      using errcode = 'RG400', detail = 'markers are numbers of chunks, from 1',
        hint = 'pass the ids in the order in which the chunks were numbered';
  end if;
  for v_marker in select m.* from ragdb_internal.markers(answer) m loop
    if v_marker.n not between 1 and cardinality(chunk_ids) then
      raise exception 'marker [%] does not name a chunk', v_marker.n
        using errcode = 'RG442',
          detail = format('it is given %s, from 1',
            ragdb_internal.counted(cardinality(chunk_ids), 'chunk')),
          hint = 'correct the marker, or pass all chunk ids';
    elsif v_marker.start_offset >= v_marker.end_offset then
      raise exception 'marker [%] has no text before it', v_marker.n
        using errcode = 'RG442', detail = 'a marker grounds the text since the one before',
          hint = 'put it after what it proves';
    end if;
  end loop;
  return coalesce((
    select jsonb_agg(jsonb_build_object('start', s.start_offset, 'end', s.end_offset,
      'chunkIds', s.ids, 'required', true) order by s.start_offset)
    from (
      select c.start_offset, c.end_offset, jsonb_agg(c.id order by c.first) as ids
      from (
        select m.start_offset, m.end_offset,
          chunk_ids[array_lower(chunk_ids, 1) - 1 + m.n] as id, min(m.place) as first
        from (select t.*, row_number() over () as place from ragdb_internal.markers(answer) t) m
        group by 1, 2, 3) c
      group by c.start_offset, c.end_offset) s), '[]');
end $$;
comment on function ragdb.inline_spans is
  'Returns the grounding spans (code points) that markers [1] or [1, 2] in an answer mean, given '
  'the ids of the chunks in the order of their numbers. Raises RG400, RG442.';
