-- What is derived of the turns of a session: from their order, their edges and their embeddings.

-- Sessions are read in the order in which their turns were said.
create or replace function ragdb_internal.session_turns(corpus_id integer, sessions text[])
returns table (
  chunk_no integer, chunk_id text, session_id text, given jsonb, created_at timestamptz, text text,
  embedding vector, place bigint, phase text)
language sql stable parallel safe
begin atomic
  select t.chunk_no, c.chunk_id, t.session_id, t.given, t.created_at, c.text, v.embedding,
      pg_catalog.row_number() over (
        partition by t.session_id order by t.created_at, c.ordinal, c.chunk_id),
      coalesce(t.given ->> 'phase', ragdb_internal.turn_phase(t.role, c.text))
    from ragdb.turns t
    cross join lateral (
      select c.chunk_id, c.ordinal, c.text from ragdb.chunks c
        where c.corpus_id = t.corpus_id and c.chunk_no = t.chunk_no
        offset 0) c
    cross join ragdb_internal.space(session_turns.corpus_id, 'current') s
    left join lateral (
      select v.embedding from ragdb.chunk_embeddings v
        where v.space_id = s.space_id and v.corpus_id = t.corpus_id
          and v.chunk_no = t.chunk_no
        offset 0) v on true
    where t.corpus_id = session_turns.corpus_id and t.session_id = any (session_turns.sessions);
end;
comment on function ragdb_internal.session_turns(integer, text[]) is
  'Returns the turns of some sessions with their text, their embedding in the current space (null '
  'without one), their place in the session from 1, and their phase.';

create or replace function ragdb_internal.session_answers(corpus_id integer, sessions text[])
returns table (parent_no integer, child_no integer)
language sql stable parallel safe
begin atomic
  select e.parent_no, t.chunk_no
    from ragdb.turns t
    cross join lateral (
      select distinct e.parent_no from ragdb.edges e
        where e.corpus_id = t.corpus_id and e.child_no = t.chunk_no
          and e.edge_type in ('reply', 'branch')
        offset 0) e
    cross join lateral (
      select p.session_id from ragdb.turns p
        where p.corpus_id = t.corpus_id and p.chunk_no = e.parent_no
        offset 0) p
    where t.corpus_id = session_answers.corpus_id
      and t.session_id = any (session_answers.sessions)
      and p.session_id = any (session_answers.sessions);
end;
comment on function ragdb_internal.session_answers(integer, text[]) is
  'Returns the replies and branches between turns of some sessions.';

create or replace function ragdb_internal.session_depths(corpus_id integer, sessions text[])
returns table (chunk_no integer, depth integer)
language sql stable parallel safe
begin atomic
  with recursive answers as materialized (
    select a.parent_no, a.child_no
      from ragdb_internal.session_answers(session_depths.corpus_id, session_depths.sessions) a
  ), paths as (
    select t.chunk_no, 0 as depth from ragdb.turns t
      where t.corpus_id = session_depths.corpus_id
        and t.session_id = any (session_depths.sessions)
        and t.chunk_no not in (select a.child_no from answers a)
    union
    select a.child_no, p.depth + 1 from paths p join answers a on a.parent_no = p.chunk_no
  )
  select p.chunk_no, pg_catalog.min(p.depth) from paths p group by p.chunk_no;
end;
comment on function ragdb_internal.session_depths(integer, text[]) is
  'Returns the fewest replies and branches that lead from a root to each turn of some sessions.';

-- Where a turn answers several, the parent of the least id counts.
create or replace function ragdb_internal.placed_turns(corpus_id integer, sessions text[])
returns table (
  chunk_no integer, given jsonb, text text, place bigint, phase text, is_transition boolean,
  embedding vector, parent_embedding vector, earlier vector[], sibling_order bigint,
  elapsed numeric, span numeric)
language sql stable parallel safe
begin atomic
  with members as materialized (
    select m.* from ragdb_internal.session_turns(
      placed_turns.corpus_id, placed_turns.sessions) m
  ), parents as (
    select distinct on (a.child_no) a.child_no, a.parent_no, p.embedding
      from ragdb_internal.session_answers(placed_turns.corpus_id, placed_turns.sessions) a
      join members p on p.chunk_no = a.parent_no
      order by a.child_no, p.chunk_id collate "C"
  )
  select m.chunk_no, m.given, m.text, m.place, m.phase,
      m.phase <> pg_catalog.lag(m.phase) over o, m.embedding, p.embedding,
      pg_catalog.array_agg(m.embedding) over (o rows between 10 preceding and 1 preceding),
      pg_catalog.row_number() over (partition by m.session_id, p.parent_no order by m.place) - 1,
      extract(epoch from m.created_at - pg_catalog.min(m.created_at) over s),
      extract(epoch from
        pg_catalog.max(m.created_at) over s - pg_catalog.min(m.created_at) over s)
    from members m left join parents p on p.child_no = m.chunk_no
    window s as (partition by m.session_id), o as (partition by m.session_id order by m.place);
end;
comment on function ragdb_internal.placed_turns(integer, text[]) is
  'Returns the turns of some sessions with what stands around each: whether its phase is new, its '
  'parent, the ten turns before it, its place among its siblings from 0, and seconds since the '
  'first turn, of how many.';

create or replace function ragdb_internal.spread_salience(corpus_id integer, sessions text[])
returns void
language sql
set enable_nestloop = on
set enable_hashjoin = off
set enable_mergejoin = off
begin atomic
  update ragdb.edges e set child_salience = n.salience
    from (
      select o.at, t.salience
        from ragdb.turns t
        cross join lateral (
          select e.ctid as at from ragdb.edges e
            where e.corpus_id = t.corpus_id and e.child_no = t.chunk_no
              and e.child_salience <> t.salience
            offset 0) o
        where t.corpus_id = spread_salience.corpus_id
          and t.session_id = any (spread_salience.sessions)) n
    where e.ctid = n.at;
end;
comment on function ragdb_internal.spread_salience(integer, text[]) is
  'Copies the salience of the turns of some sessions to the edges that lead to them.';

-- Everything about turns that follows from their texts, order, edges and embeddings; run again
-- whenever a session changes, and when it has all its embeddings. What is read of each turn is
-- looked up by its key, and by the corpus in its row: of a corpus that is new, the planner believes
-- that it has a row or two, and then any index will do. What is joined is as large as the sessions,
-- and is hashed whatever the planner believes of their size.
create or replace function ragdb_internal.derive_turns(corpus_id integer, sessions text[])
returns void
language sql
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set enable_nestloop = off
begin atomic
  update ragdb.turns t
    set phase = p.phase, depth = d.depth, sibling_order = p.sibling_order,
        homogeneity = case
          when d.depth = 0 then 1
          when p.embedding is null or p.parent_embedding is null then 0.5
          else ragdb_internal.similarity(p.embedding, p.parent_embedding, 'cosine') end,
        temporal = coalesce(p.elapsed / nullif(p.span, 0), 0),
        complexity = 1 + pg_catalog.regexp_count(p.text, '^```', 1, 'n') / 2
          + pg_catalog.regexp_count(p.text, '!\[[^]]*\]\('),
        salience = ragdb_internal.turn_salience(
          p.given, p.is_transition, r.referrals, n.novelty)
    from ragdb_internal.placed_turns(derive_turns.corpus_id, derive_turns.sessions) p
    join ragdb_internal.session_depths(derive_turns.corpus_id, derive_turns.sessions) d
      on d.chunk_no = p.chunk_no
    left join (
      select e.child_no, pg_catalog.count(*) as referrals
        from ragdb.turns m
        cross join lateral (
          select e.child_no from ragdb.edges e
            where e.corpus_id = m.corpus_id and e.child_no = m.chunk_no
              and e.edge_type = 'reference'
            offset 0) e
        where m.corpus_id = derive_turns.corpus_id
          and m.session_id = any (derive_turns.sessions)
        group by e.child_no) r on r.child_no = p.chunk_no
    cross join lateral ragdb_internal.turn_novelty(p.embedding, p.place, p.earlier) n
    where t.corpus_id = derive_turns.corpus_id and t.session_id = any (derive_turns.sessions)
      and t.chunk_no = p.chunk_no;
  select ragdb_internal.spread_salience(derive_turns.corpus_id, derive_turns.sessions);
end;
comment on function ragdb_internal.derive_turns(integer, text[]) is
  'Sets phase, salience, depth, sibling order, homogeneity, temporal and complexity of the turns '
  'of some sessions; homogeneity and the novelty in salience where the turns that they compare are '
  'embedded.';

-- Once a session: with every batch, a long session would be derived anew for each.
create or replace function ragdb_internal.derive_embedded_turns(
  space ragdb.embedding_spaces, chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_sessions text[] := array(
    select distinct t.session_id from ragdb.turns t
      where space.state = 'current' and t.corpus_id = space.corpus_id
        and t.chunk_no = any (derive_embedded_turns.chunk_nos)
        and not exists (
          select from ragdb.turns o
            where o.corpus_id = t.corpus_id and o.session_id = t.session_id
              and not exists (select from ragdb.chunk_embeddings v
                where v.space_id = space.space_id and v.corpus_id = o.corpus_id
                  and v.chunk_no = o.chunk_no)));
begin
  if v_sessions <> '{}' then
    perform ragdb_internal.derive_turns(space.corpus_id, v_sessions);
  end if;
end $$;
comment on function ragdb_internal.derive_embedded_turns(ragdb.embedding_spaces, integer[]) is
  'Derives anew the sessions of turns that have just been embedded and are complete in a current '
  'space; the caller holds the corpus lock.';
