-- The graph of a slice: the chunks that its policy admitted, those beside them that it refused, and
-- why. What the expansion met and left is read off the order of selection, so a stored slice is
-- shown as it was taken, over the edges that there are now.

-- A chunk beside the member of a slice at some place: how is neighbour, sibling (that the member
-- may take) or passed (a sibling that it may not).
create type ragdb_internal.slice_meeting as (place integer, chunk_no integer, how text);

-- Returns what stands beside the members of a slice, which are given in order of selection. Of a
-- crowd beside one member the first are enough to show, but what joins two members is always found:
-- their distances follow from it.
create or replace function ragdb_internal.slice_meetings(
  corpus_id integer, chunk_nos integer[], rules ragdb_internal.slice_rules)
returns setof ragdb_internal.slice_meeting
language sql stable parallel safe
begin atomic
  with members as materialized (
    select m.place::integer, m.chunk_no, array(
        select distinct e.parent_no from ragdb.edges e
        where e.corpus_id = slice_meetings.corpus_id and e.child_no = m.chunk_no
        order by 1 limit 1000) as parents
      from pg_catalog.unnest(slice_meetings.chunk_nos) with ordinality m (chunk_no, place)
      where m.chunk_no is not null
  )
  select m.place, p.parent_no, 'neighbour' from members m
    cross join lateral pg_catalog.unnest(m.parents) p (parent_no)
  union all
  select m.place, c.child_no, 'neighbour' from members m
    cross join lateral (
      select distinct e.child_no from (
        select e.child_no from ragdb.edges e
          where e.corpus_id = slice_meetings.corpus_id and e.parent_no = m.chunk_no
          order by e.child_salience desc, e.child_no limit 1000) e) c
  union all
  select u.place, u.chunk_no, 'neighbour' from members m
    cross join lateral (
      select distinct p.place as parent_place, p.chunk_no as parent_no from ragdb.edges e
        join members p on p.chunk_no = e.parent_no
        where e.corpus_id = slice_meetings.corpus_id and e.child_no = m.chunk_no) e
    cross join lateral (values (m.place, e.parent_no), (e.parent_place, m.chunk_no))
      u (place, chunk_no)
  union all
  select m.place, s.chunk_no, 'sibling' from members m
    cross join lateral ragdb_internal.slice_siblings(slice_meetings.corpus_id, m.chunk_no,
      m.parents, (rules).max_siblings) s (chunk_no)
    where (rules).max_siblings > 0
  union all
  select m.place, s.child_no, 'passed' from members m
    cross join lateral pg_catalog.unnest(m.parents) p (parent_no)
    cross join lateral (
      select e.child_no from ragdb.edges e
        where e.corpus_id = slice_meetings.corpus_id and e.parent_no = p.parent_no
          and e.child_no <> m.chunk_no
        order by e.child_salience desc, e.child_no limit (rules).max_siblings + 3) s;
end;

-- Returns the distance at which each member of a slice was met, the anchor at 0; null where no edge
-- leads to it now.
create or replace function ragdb_internal.slice_distances(
  meetings ragdb_internal.slice_meeting[], chunk_nos integer[], max_radius integer)
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_distances integer[] := array[0];
  v_met record;
  v_i integer;
begin
  for v_met in
    select o.place, array_agg(m.place order by m.place, m.how) as places,
        array_agg((m.how = 'neighbour')::integer order by m.place, m.how) as steps
      from unnest(chunk_nos) with ordinality o (chunk_no, place)
        join unnest(meetings) m on m.chunk_no = o.chunk_no and m.place < o.place
          and m.how <> 'passed'
      where o.place > 1 group by o.place order by o.place
  loop
    foreach v_i in array array(select generate_subscripts(v_met.places, 1)) loop
      if v_distances[v_met.places[v_i]] < max_radius then
        v_distances[v_met.place] := v_distances[v_met.places[v_i]] + v_met.steps[v_i];
        exit;
      end if;
    end loop;
  end loop;
  return v_distances;
end $$;

-- A chunk that a slice did not take: its distance, why, and the place of the member beside it.
create type ragdb_internal.slice_refusal as (
  chunk_no integer, distance integer, reason text, beside integer);

-- Returns the chunks beside the members of a slice that it did not take: for score, budget, depth
-- or policy, or changed where it would take them now. The first of these that holds. The chunk that
-- fills a slice is not looked around any more.
create or replace function ragdb_internal.slice_refusals(
  meetings ragdb_internal.slice_meeting[], chunk_nos integer[], distances integer[],
  rules ragdb_internal.slice_rules)
returns setof ragdb_internal.slice_refusal
language sql stable parallel safe
begin atomic
  with beside as (
    select m.chunk_no, m.place, m.how, slice_refusals.distances[m.place] as distance,
        slice_refusals.distances[m.place] >= (rules).max_radius as is_far,
        m.place = (rules).max_nodes as is_last
      from pg_catalog.unnest(slice_refusals.meetings) m
      -- a member that is gone has no number
      where not coalesce(m.chunk_no = any (slice_refusals.chunk_nos), false)
        and slice_refusals.distances[m.place] is not null
  ), judged as (
    select b.chunk_no, b.place,
        b.distance + (b.how = 'neighbour')::integer as distance,
        case when b.how = 'passed' or b.how = 'sibling' and (b.is_far or b.is_last) then 'policy'
          when b.is_far then 'depth'
          when b.is_last then 'budget'
          when pg_catalog.cardinality(slice_refusals.chunk_nos) < (rules).max_nodes then 'changed'
          else 'score' end as reason
      from beside b
  )
  select distinct on (j.chunk_no) j.chunk_no, j.distance, j.reason, j.place
    from judged j
    order by j.chunk_no, pg_catalog.array_position(
      array['changed', 'score', 'budget', 'depth', 'policy'], j.reason), j.place, j.distance desc;
end;
