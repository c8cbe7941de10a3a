-- What turns weigh: homogeneity and salience, from their texts, their edges and embeddings, and the
-- ten turns before each. Every row is looked up by its key or in the order of the session, so that
-- a turn costs the same in any session.

-- Returns the homogeneity and the salience of a turn, by the turn that it answers (0: none), its
-- depth and the ten turns before it; homogeneity and novelty where the turns that they compare are
-- embedded in the space.
create or replace function ragdb_internal.turn_weight(
  corpus_id integer, space_id integer, chunk_no integer, answers_no integer, depth integer)
returns table (homogeneity real, salience real)
language sql stable parallel safe
begin atomic
  select case
      when turn_weight.depth = 0 then 1
      when v.embedding is null or p.embedding is null then 0.5
      else ragdb_internal.similarity(v.embedding, p.embedding, 'cosine') end,
    ragdb_internal.turn_salience(t.given, t.phase <> b.phases[1],
      -- three count, and a turn may have thousands
      (select pg_catalog.count(*) from (
        select from ragdb.edges e
        where e.corpus_id = turn_weight.corpus_id and e.child_no = turn_weight.chunk_no
          and e.edge_type = 'reference' limit 3) e),
      ragdb_internal.turn_novelty(v.embedding, b.embeddings))
    from (select t.* from ragdb.turns t
      where t.corpus_id = turn_weight.corpus_id and t.chunk_no = turn_weight.chunk_no offset 0) t
    left join lateral (
      select ragdb_internal.full_vector(v) as embedding from ragdb.chunk_embeddings v
      where v.space_id = turn_weight.space_id and v.corpus_id = turn_weight.corpus_id
        and v.chunk_no = turn_weight.chunk_no offset 0) v on true
    left join lateral (
      select ragdb_internal.full_vector(v) as embedding from ragdb.chunk_embeddings v
      where v.space_id = turn_weight.space_id and v.corpus_id = turn_weight.corpus_id
        and v.chunk_no = turn_weight.answers_no offset 0) p on true
    cross join lateral (
      select pg_catalog.array_agg(o.phase order by o.n) as phases,
          pg_catalog.array_agg(v.embedding) as embeddings
        from (
          select o.chunk_no, o.phase, pg_catalog.row_number() over () as n
            from (select o.chunk_no, o.phase from ragdb.turns o
              where o.corpus_id = t.corpus_id and o.session_id = t.session_id
                and (o.created_at, o.place, o.turn_id)
                  < (t.created_at, t.place, t.turn_id)
              order by o.created_at desc, o.place desc, o.turn_id desc limit 10) o) o
        left join lateral (
          select ragdb_internal.full_vector(v) as embedding from ragdb.chunk_embeddings v
          where v.space_id = turn_weight.space_id and v.corpus_id = turn_weight.corpus_id
            and v.chunk_no = o.chunk_no offset 0) v on true) b;
end;

-- Copies the salience of some turns to the edges that lead to them.
create or replace function ragdb_internal.spread_salience(corpus_id integer, chunk_nos integer[])
returns void
language sql
begin atomic
  update ragdb.edges e set child_salience = n.salience
    from (
      select o.at, t.salience
        from pg_catalog.unnest(spread_salience.chunk_nos) n (chunk_no)
        cross join lateral (
          select t.salience from ragdb.turns t
            where t.corpus_id = spread_salience.corpus_id and t.chunk_no = n.chunk_no
            offset 0) t
        cross join lateral (
          select e.ctid as at from ragdb.edges e
            where e.corpus_id = spread_salience.corpus_id and e.child_no = n.chunk_no
              and e.child_salience <> t.salience
            offset 0) o) n
    where e.ctid = n.at;
end;

-- A turn with the turn that it answers (0: none), its depth and its place among its siblings.
create type ragdb_internal.placed_turn as (
  chunk_no integer, answers_no integer, depth integer, sibling_order integer);

-- A turn with its place and what it weighs there.
create type ragdb_internal.weighed_turn as (
  chunk_no integer, answers_no integer, depth integer, sibling_order integer, homogeneity real,
  salience real);

-- Writes the places and weights of turns where they have others. Apart from store_places, whose
-- plans are made anew: so would be that of the foreign key, for each turn that is new.
create or replace function ragdb_internal.write_places(
  corpus_id integer, weighed ragdb_internal.weighed_turn[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = auto
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set cpu_index_tuple_cost = 1000
as $$
begin
  update ragdb.turns t
    set answers_no = w.answers_no, depth = w.depth, sibling_order = w.sibling_order,
        homogeneity = w.homogeneity, salience = w.salience
    from (
      select o.at, p.*
        from unnest(weighed) p
        cross join lateral (
          select t.ctid as at, t.answers_no, t.depth, t.sibling_order, t.homogeneity, t.salience
            from ragdb.turns t
            where t.corpus_id = write_places.corpus_id and t.chunk_no = p.chunk_no
            offset 0) o
        where (o.answers_no, o.depth, o.sibling_order, o.homogeneity, o.salience)
          is distinct from
            (p.answers_no, p.depth, p.sibling_order, p.homogeneity, p.salience)) w
    where t.ctid = w.at;
end $$;

-- Places turns in their sessions, and weighs them there. A plan that is kept would lock the
-- embeddings of every corpus.
create or replace function ragdb_internal.store_places(
  corpus_id integer, places ragdb_internal.placed_turn[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set cpu_index_tuple_cost = 1000
as $$
declare
  v_space_id constant integer :=
    (ragdb_internal.space(store_places.corpus_id, 'current')).space_id;
begin
  perform ragdb_internal.write_places(store_places.corpus_id, array(
      select row(p.chunk_no, p.answers_no, p.depth, p.sibling_order, w.homogeneity, w.salience)
        ::ragdb_internal.weighed_turn
      from unnest(store_places.places) p
        cross join lateral ragdb_internal.turn_weight(store_places.corpus_id,
          v_space_id, p.chunk_no, p.answers_no, p.depth) w)),
    ragdb_internal.spread_salience(store_places.corpus_id, array(
      select p.chunk_no from unnest(store_places.places) p));
end $$;

-- Weighs some turns anew where they stand.
create or replace function ragdb_internal.weigh_turns(corpus_id integer, chunk_nos integer[])
returns void
language sql
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
begin atomic
  select ragdb_internal.store_places(weigh_turns.corpus_id, array(
    select row(t.chunk_no, t.answers_no, t.depth, t.sibling_order)::ragdb_internal.placed_turn
      from pg_catalog.unnest(weigh_turns.chunk_nos) n (chunk_no)
      cross join lateral (
        select t.* from ragdb.turns t
          where t.corpus_id = weigh_turns.corpus_id and t.chunk_no = n.chunk_no
          offset 0) t));
end;

-- Returns some turns, and those whose weight depends on the embeddings of these. Novelty looks back
-- at ten turns, and homogeneity at the turn that is answered.
create or replace function ragdb_internal.turns_that_compare(
  corpus_id integer, chunk_nos integer[])
returns integer[]
language sql stable parallel safe
return array(
  select pg_catalog.unnest(turns_that_compare.chunk_nos)
  union
  select o.chunk_no
    from pg_catalog.unnest(turns_that_compare.chunk_nos) n (chunk_no)
    cross join lateral (
      select t.* from ragdb.turns t
        where t.corpus_id = turns_that_compare.corpus_id and t.chunk_no = n.chunk_no
        offset 0) t
    cross join lateral (
      (select l.chunk_no from ragdb.turns l
        where l.corpus_id = t.corpus_id and l.session_id = t.session_id
          and (l.created_at, l.place, l.turn_id) > (t.created_at, t.place, t.turn_id)
        order by l.created_at, l.place, l.turn_id limit 10)
      union all
      (select a.chunk_no from ragdb.turns a
        where a.corpus_id = t.corpus_id and a.session_id = t.session_id
          and a.answers_no = t.chunk_no offset 0)) o);

-- Weighs anew the turns that chunks which have just been embedded in a current space are compared
-- with; the caller holds the corpus lock. With every batch of embeddings, and then only what they
-- are compared with: a session that grows by a turn is not weighed anew.
create or replace function ragdb_internal.derive_embedded_turns(
  space ragdb.embedding_spaces, chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
as $$
begin
  if space.state = 'current' and cardinality(derive_embedded_turns.chunk_nos) > 0 then
    perform ragdb_internal.weigh_turns(space.corpus_id, ragdb_internal.turns_that_compare(
      space.corpus_id, derive_embedded_turns.chunk_nos));
  end if;
end $$;
