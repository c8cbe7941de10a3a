-- What the turns of a session come to together: from their order, their edges and their embeddings.
--
-- A turn is derived from what it answers, from the ten turns before it and from its own text, and
-- from nothing that comes later. So a session that grows at its end changes no turn that it has,
-- and some turns that are derived again come to what all would.
--
-- The order of a session is that of created_at, then of place, then of turn_id. Every row is
-- looked up by its key or in that order (lateral with offset 0, or limit): what the planner
-- believes of the size of a session decides nothing.

-- Returns the replies and branches that lead to some turns from turns of their own sessions.
create or replace function ragdb_internal.answered_turns(corpus_id integer, chunk_nos integer[])
returns table (child_no integer, parent_no integer)
language sql stable parallel safe
begin atomic
  select t.chunk_no, e.parent_no
    from pg_catalog.unnest(answered_turns.chunk_nos) n (chunk_no)
    cross join lateral (
      select t.chunk_no, t.session_id from ragdb.turns t
        where t.corpus_id = answered_turns.corpus_id and t.chunk_no = n.chunk_no
        offset 0) t
    cross join lateral (
      select distinct e.parent_no from ragdb.edges e
        where e.corpus_id = answered_turns.corpus_id and e.child_no = t.chunk_no
          and e.edge_type in ('reply', 'branch')
        offset 0) e
    cross join lateral (
      select p.session_id from ragdb.turns p
        where p.corpus_id = answered_turns.corpus_id and p.chunk_no = e.parent_no
        offset 0) p
    where p.session_id = t.session_id;
end;

-- Returns the fewest steps to each of some nodes: depths is what is known of them, waiting how many
-- each of them answers; what answers node n is answers[first_answer[n]] up to first_answer[n + 1].
-- Null on a cycle. Each turn once, after all that it answers: paths are many where turns answer
-- several.
create or replace function ragdb_internal.walked_depths(
  depths integer[], waiting integer[], first_answer integer[], answers integer[])
returns integer[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue integer[] := array(
    select w.n::integer from unnest(waiting) with ordinality w (count, n) where w.count = 0);
  v_next integer := 1;
  v_child integer;
begin
  while v_next <= cardinality(v_queue) loop
    depths[v_queue[v_next]] := coalesce(depths[v_queue[v_next]], 0);
    for i in first_answer[v_queue[v_next]] .. first_answer[v_queue[v_next] + 1] - 1 loop
      v_child := answers[i];
      depths[v_child] := least(depths[v_child], depths[v_queue[v_next]] + 1);
      waiting[v_child] := waiting[v_child] - 1;
      if waiting[v_child] = 0 then
        v_queue[cardinality(v_queue) + 1] := v_child;
      end if;
    end loop;
    v_next := v_next + 1;
  end loop;
  return depths;
end $$;

-- Refuses turns of which one has no depth. Raises RG412.
create or replace function ragdb_internal.check_depths(
  corpus_id integer, chunk_nos integer[], depths integer[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id text;
begin
  if array_position(depths, null) is not null then
    select c.chunk_id into v_id from ragdb.chunks c
      where c.corpus_id = check_depths.corpus_id
        and c.chunk_no = chunk_nos[array_position(depths, null)];
    raise exception 'replies form a cycle'
      using errcode = 'RG412',
        detail = 'a turn on it or behind it: ' || ragdb_internal.quote(v_id),
        hint = 'a reply or branch leads from an earlier turn to a later one; use a reference '
          'for anything else';
  end if;
end $$;

-- Returns the depth of each of some turns, by the replies and branches that lead to them (children
-- and parents): a turn that is not among them has the depth that is stored. Raises RG412 for a
-- cycle.
create or replace function ragdb_internal.turn_depths(
  corpus_id integer, chunk_nos integer[], children integer[], parents integer[])
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
as $$
#variable_conflict use_variable
declare
  v_depths integer[];
  v_waiting integer[];
  v_counts integer[];
  v_answers integer[];
begin
  with member as materialized (
    select m.chunk_no, m.n::integer from unnest(chunk_nos) with ordinality m (chunk_no, n)
  ), edge as materialized (
    select k.n as child, p.n as parent, e.parent_no
      from unnest(children, parents) e (child_no, parent_no)
      join member k on k.chunk_no = e.child_no left join member p on p.chunk_no = e.parent_no
  ), known as (
    -- what was there before has its depth
    select e.child, min(t.depth) + 1 as depth from edge e
      cross join lateral (select t.depth from ragdb.turns t
        where t.corpus_id = turn_depths.corpus_id and t.chunk_no = e.parent_no offset 0) t
      where e.parent is null group by e.child
  ), inward as (
    select e.child, count(*)::integer as count from edge e where e.parent is not null group by 1
  ), outward as (
    select e.parent, count(*)::integer as count from edge e where e.parent is not null group by 1
  )
  select array_agg(k.depth order by m.n), array_agg(coalesce(i.count, 0) order by m.n),
      array_agg(coalesce(o.count, 0) order by m.n),
      array(select e.child from edge e where e.parent is not null order by e.parent)
    into v_depths, v_waiting, v_counts, v_answers
    from member m left join known k on k.child = m.n left join inward i on i.child = m.n
      left join outward o on o.parent = m.n;
  v_depths := ragdb_internal.walked_depths(v_depths, v_waiting, array(
    select coalesce(sum(c.count) over (order by c.n) - c.count, 0)::integer + 1
    from unnest(v_counts || 0) with ordinality c (count, n) order by c.n), v_answers);
  perform ragdb_internal.check_depths(corpus_id, chunk_nos, v_depths);
  return v_depths;
end $$;

-- A place in the order of a session.
create type ragdb_internal.turn_place as (
  created_at timestamptz, place integer, turn_id uuid);

-- Returns the turns of some sessions from a place on, in no order.
create or replace function ragdb_internal.turns_from(
  corpus_id integer, sessions text[], first ragdb_internal.turn_place)
returns integer[]
language sql stable parallel safe
return array(
  select t.chunk_no
    from pg_catalog.unnest(turns_from.sessions) s (session_id)
    cross join lateral (
      select t.chunk_no from ragdb.turns t
        where t.corpus_id = turns_from.corpus_id and t.session_id = s.session_id
          and (t.created_at, t.place, t.turn_id)
            >= ((turns_from.first).created_at, (turns_from.first).place,
              (turns_from.first).turn_id)
        offset 0) t);

-- Returns how many turns of a session answer a turn (0: none) before a place. Its plan is kept for
-- the next turn.
create or replace function ragdb_internal.siblings_before(
  corpus_id integer, session_id text, answers_no integer, first ragdb_internal.turn_place)
returns integer
language sql stable parallel safe
set plan_cache_mode = force_generic_plan
return coalesce((
  select t.sibling_order + 1 from ragdb.turns t
    where t.corpus_id = siblings_before.corpus_id and t.session_id = siblings_before.session_id
      and t.answers_no = siblings_before.answers_no
      and (t.created_at, t.place, t.turn_id)
        < ((siblings_before.first).created_at, (siblings_before.first).place,
          (siblings_before.first).turn_id)
    order by t.created_at desc, t.place desc, t.turn_id desc limit 1), 0);

-- Returns where turns stand that are all of their sessions from a place on. Where a turn answers
-- several, the one of the least id counts.
create or replace function ragdb_internal.placed_turns(
  corpus_id integer, turns integer[], first ragdb_internal.turn_place)
returns ragdb_internal.placed_turn[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
as $$
#variable_conflict use_variable
declare
  v_children integer[];
  v_parents integer[];
begin
  select array_agg(a.child_no), array_agg(a.parent_no) into v_children, v_parents
    from ragdb_internal.answered_turns(corpus_id, turns) a;
  return array(
    with answer as materialized (
      select distinct on (a.child_no) a.child_no, a.parent_no
        from unnest(v_children, v_parents) a (child_no, parent_no)
        cross join lateral (select c.chunk_id from ragdb.chunks c
          where c.corpus_id = placed_turns.corpus_id and c.chunk_no = a.parent_no offset 0) c
        order by a.child_no, c.chunk_id
    ), member as materialized (
      select t.*, m.depth, coalesce(a.parent_no, 0) as answers
        from unnest(turns, ragdb_internal.turn_depths(corpus_id, turns, v_children, v_parents))
          m (chunk_no, depth)
        cross join lateral (
          select t.chunk_no, t.turn_id, t.session_id, t.created_at, t.place from ragdb.turns t
            where t.corpus_id = placed_turns.corpus_id and t.chunk_no = m.chunk_no offset 0) t
        left join answer a on a.child_no = m.chunk_no
    ), family as materialized (
      select f.*, ragdb_internal.siblings_before(corpus_id, f.session_id, f.answers, first)
          as before
        from (select distinct m.session_id, m.answers from member m) f
    )
    select row(m.chunk_no, m.answers, m.depth, f.before - 1 + row_number() over (
        partition by m.session_id, m.answers order by m.created_at, m.place, m.turn_id)
      )::ragdb_internal.placed_turn
    from member m join family f on (f.session_id, f.answers) = (m.session_id, m.answers));
end $$;

-- Sets depth, sibling order, homogeneity and salience of the turns of some sessions from a place
-- on: nothing before it depends on what comes later. Raises RG412 where replies form a cycle.
create or replace function ragdb_internal.derive_turns(
  corpus_id integer, sessions text[],
  first ragdb_internal.turn_place default row(
    '-infinity', 0, '00000000-0000-0000-0000-000000000000'))
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
as $$
#variable_conflict use_variable
declare
  v_turns constant integer[] := ragdb_internal.turns_from(corpus_id, sessions, first);
begin
  if v_turns <> '{}' then
    perform ragdb_internal.store_places(
      corpus_id, ragdb_internal.placed_turns(corpus_id, v_turns, first));
  end if;
end $$;
