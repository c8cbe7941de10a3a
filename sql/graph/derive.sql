-- What is derived of turns from their texts, order, edges and embeddings.

-- From the weightiest to the least; ties between phases go to the earlier.
create or replace function ragdb_internal.phases() returns text[]
language sql immutable parallel safe
return array['synthesis', 'planning', 'consolidation', 'debugging', 'exploration'];
comment on function ragdb_internal.phases() is
  'Returns the phases of a turn, in the order in which a slice policy lists their weights.';

-- Phase by keywords and form. Each rule adds to one phase; the best of at least 0.3 wins, ties in
-- the order of the list.
create or replace function ragdb_internal.turn_phase(role text, text text) returns text
language sql immutable strict parallel safe
begin atomic
  select coalesce((
    select p.phase
      from (values
        (1, 'synthesis', case when t.low ~ ('(decision:|let''s go with|we''ll use|decided to'
          || '|the approach|final answer|conclusion|summary)') then 0.5 else 0 end),
        (2, 'planning', case when t.low ~ ('(\mphase|\mroadmap|\mstep|\mplan|\mmilestone|\mtodo'
            || '|\mfirst,|\msecond,|\mthird,|\mthen\M|\mnext step)') then 0.4 else 0 end
          + case when t.items > 3 then 0.3 else 0 end),
        (3, 'consolidation', case when t.length > 1000 then 0.3 else 0 end
          + case when pg_catalog.strpos(t.low, '```') > 0 then 0.3 else 0 end
          + case when t.low ~ '[a-z0-9_]\.(rs|py|ts|js|go|java|cpp|h)\M' then 0.2 else 0 end),
        (4, 'debugging', case when t.low ~ ('(\merror|\mexception|\mtraceback|\mfailed'
          || '|doesn''t work|\mbug|\mfix|\mbroken|\mcrash|\mpanic|\mundefined)')
          then 0.6 else 0 end),
        (5, 'exploration', case when role <> 'user' then 0
          else case when pg_catalog.regexp_count(t.low, '\?') >= 2 then 0.5 else 0 end
            + case when t.length < 200 then 0.2 else 0 end end)
      ) p (place, phase, weight)
      where p.weight >= 0.3 order by p.weight desc, p.place limit 1), 'exploration')
    from (select pg_catalog.lower(turn_phase.text collate "C") as low,
        pg_catalog.octet_length(turn_phase.text) as length,
        pg_catalog.regexp_count(turn_phase.text, '^[ \t]*([-*+]|[0-9]+[.)])[ \t]', 1, 'n')
          as items) t;
end;
comment on function ragdb_internal.turn_phase(text, text) is
  'Returns the phase of a turn by its role and text: the rule of the highest weight of at least '
  '0.3, else exploration.';

-- Everything about turns that follows from their texts, order, edges and embeddings; run again
-- whenever a session changes, and when it has all its embeddings. Where a turn has several parents,
-- the one of the least id counts.
create or replace function ragdb_internal.derive_turns(corpus_id integer, sessions text[]) returns void
language sql
begin atomic
  with recursive members as materialized (
    select t.chunk_no, t.session_id, t.role, t.given, t.created_at, c.text, c.chunk_id, v.embedding,
        pg_catalog.row_number() over (
          partition by t.session_id order by t.created_at, c.ordinal, c.chunk_id) as place,
        coalesce(t.given ->> 'phase', ragdb_internal.turn_phase(t.role, c.text)) as phase
      from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)
      cross join ragdb_internal.space(derive_turns.corpus_id, 'current') s
      left join ragdb.chunk_embeddings v on v.space_id = s.space_id
        and v.corpus_id = t.corpus_id and v.chunk_no = t.chunk_no
      where t.corpus_id = derive_turns.corpus_id
        and t.session_id = any (derive_turns.sessions)
  ), answers as materialized (
    select e.parent_no, e.child_no, p.chunk_id as parent_id, p.embedding as parent_embedding
      from ragdb.edges e
      join members m on m.chunk_no = e.child_no
      join members p on p.chunk_no = e.parent_no
      where e.corpus_id = derive_turns.corpus_id and e.edge_type in ('reply', 'branch')
  ), parents as (
    select distinct on (a.child_no) a.child_no, a.parent_no, a.parent_embedding
      from answers a order by a.child_no, a.parent_id
  ), paths as (
    select m.chunk_no, 0 as depth from members m
      where not exists (select from answers a where a.child_no = m.chunk_no)
    union
    select a.child_no, p.depth + 1 from paths p join answers a on a.parent_no = p.chunk_no
  ), depths as (
    select p.chunk_no, pg_catalog.min(p.depth) as depth from paths p group by p.chunk_no
  ), referred as (
    select e.child_no, pg_catalog.count(*) as times
      from ragdb.edges e join members m on m.chunk_no = e.child_no
      where e.corpus_id = derive_turns.corpus_id and e.edge_type = 'reference'
      group by e.child_no
  ), placed as (
    select m.chunk_no, m.session_id, m.given, m.place, m.phase, m.embedding, m.text,
        extract(epoch from m.created_at - pg_catalog.min(m.created_at) over s) as elapsed,
        extract(epoch from
          pg_catalog.max(m.created_at) over s - pg_catalog.min(m.created_at) over s) as span,
        m.phase <> pg_catalog.lag(m.phase) over o as is_transition,
        pg_catalog.array_agg(m.embedding) over (o rows between 10 preceding and 1 preceding)
          as earlier,
        pg_catalog.row_number() over (partition by m.session_id, p.parent_no order by m.place) - 1
          as sibling_order, p.parent_embedding
      from members m left join parents p on p.child_no = m.chunk_no
      window s as (partition by m.session_id), o as (partition by m.session_id order by m.place)
  ), derived as (
    select p.*, d.depth,
        case when d.depth = 0 then 1
          when p.embedding is null or p.parent_embedding is null then 0.5
          else ragdb_internal.similarity(p.embedding, p.parent_embedding, 'cosine') end as homogeneity,
        case when p.embedding is null then 0 when p.place = 1 then 0.1::float8
          when pg_catalog.array_position(p.earlier, null) is not null then 0
          else least(0.1::float8, greatest(0, 0.1::float8 * (
            select 1 - pg_catalog.avg(pg_catalog.round((1 - (p.embedding <=> e.v))::numeric, 6))
              from pg_catalog.unnest(p.earlier) e (v)))) end as novelty
      from placed p join depths d using (chunk_no)
  )
  update ragdb.turns t
    set phase = d.phase, depth = d.depth, sibling_order = d.sibling_order,
        homogeneity = d.homogeneity, temporal = coalesce(d.elapsed / nullif(d.span, 0), 0),
        complexity = 1 + pg_catalog.regexp_count(d.text, '^```', 1, 'n') / 2
          + pg_catalog.regexp_count(d.text, '!\[[^]]*\]\('),
        salience = coalesce(pg_catalog.round((d.given ->> 'salience')::numeric, 37)::float8,
          least(1, greatest(0, 0.5::float8
          + 0.35::float8 * pg_catalog.sign(coalesce((d.given ->> 'feedback')::numeric, 0))::float8
          + case when d.is_transition then 0.1::float8 else 0 end
          + least(0.05::float8 * coalesce(r.times, 0), 0.15::float8)
          + d.novelty)))
    from derived d left join referred r on r.child_no = d.chunk_no
    where t.corpus_id = derive_turns.corpus_id and t.chunk_no = d.chunk_no;
  update ragdb.edges e set child_salience = t.salience
    from ragdb.turns t
    where t.corpus_id = derive_turns.corpus_id and t.session_id = any (derive_turns.sessions)
      and e.corpus_id = t.corpus_id and e.child_no = t.chunk_no
      and e.child_salience <> t.salience;
end;
comment on function ragdb_internal.derive_turns(integer, text[]) is
  'Sets phase, salience, depth, sibling order, homogeneity, temporal and complexity of the turns '
  'of some sessions; homogeneity and the novelty in salience where the turns that they compare are '
  'embedded.';

-- Once a session: with every batch, a long session would be derived anew for each.
create or replace function ragdb_internal.derive_embedded_turns(
  space ragdb.embedding_spaces, chunk_nos integer[]) returns void
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
              and not exists (select from ragdb.chunk_embeddings v where v.space_id = space.space_id
                and v.corpus_id = o.corpus_id and v.chunk_no = o.chunk_no)));
begin
  if v_sessions <> '{}' then
    perform ragdb_internal.derive_turns(space.corpus_id, v_sessions);
  end if;
end $$;
comment on function ragdb_internal.derive_embedded_turns(ragdb.embedding_spaces, integer[]) is
  'Derives anew the sessions of turns that have just been embedded and are complete in a current '
  'space; the caller holds the corpus lock.';
