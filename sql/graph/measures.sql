-- What one turn comes to: its phase, its novelty, its salience, its parts and its place in time.

-- Returns the phases of a turn, in the order in which a slice policy lists their weights. From the
-- weightiest to the least; ties between phases go to the earlier.
create or replace function ragdb_internal.phases() returns text[]
language sql immutable parallel safe
return array['synthesis', 'planning', 'consolidation', 'debugging', 'exploration'];

-- Returns the place of a type of edges in the order of a slice; null for what is not a type. The
-- table of edges has these types in a constraint.
create or replace function ragdb_internal.edge_order(edge_type text) returns integer
language sql immutable parallel safe
return pg_catalog.array_position(
  array['reply', 'branch', 'reference', 'default'], edge_order.edge_type);

-- Returns the phase of a turn by its role and text: the rule of the highest weight of at least 0.3,
-- else exploration. Phase by keywords and form. Each rule adds to one phase; the best of at least
-- 0.3 wins, ties in the order of the list. Its plan is kept for the next turn.
create or replace function ragdb_internal.turn_phase(role text, text text) returns text
language sql immutable strict parallel safe
set plan_cache_mode = force_generic_plan
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

-- Returns how new a turn is beside those before it (null: it is the first), 0 to 0.1. How far a
-- turn is from the ten before it; nothing while one of them has no embedding. Its plan is kept for
-- the next turn.
create or replace function ragdb_internal.turn_novelty(embedding vector, earlier vector[])
returns float8
language sql immutable parallel safe
set plan_cache_mode = force_generic_plan
return case
  when embedding is null then 0
  when earlier is null then 0.1::float8
  when pg_catalog.array_position(earlier, null) is not null then 0
  else least(0.1::float8, greatest(0, 0.1::float8 * (
    select 1 - pg_catalog.avg(pg_catalog.round((1 - (embedding <=> e.v))::numeric, 6))
      from pg_catalog.unnest(earlier) e (v)))) end;

-- Returns the salience that a turn was given, else 0 to 1 by its feedback, a new phase, the
-- references to it and its novelty.
create or replace function ragdb_internal.turn_salience(
  given jsonb, is_transition boolean, referrals bigint, novelty float8)
returns float8
language sql immutable parallel safe
return coalesce(
  pg_catalog.round((given ->> 'salience')::numeric, 37)::float8,
  least(1, greatest(0, 0.5::float8
    + 0.35::float8 * pg_catalog.sign(coalesce((given ->> 'feedback')::numeric, 0))::float8
    + case when is_transition then 0.1::float8 else 0 end
    + least(0.05::float8 * coalesce(referrals, 0), 0.15::float8)
    + novelty)));

-- Returns the number of parts of a turn: its text, code blocks and images.
create or replace function ragdb_internal.turn_complexity(text text) returns real
language sql immutable strict parallel safe
return 1 + pg_catalog.regexp_count(turn_complexity.text, '^```', 1, 'n') / 2
  + pg_catalog.regexp_count(turn_complexity.text, '!\[[^]]*\]\(');

-- Returns the position of a time in the time span of a session, 0 to 1; null of no session. Not
-- stored: the span of a session grows with every turn. Both ends are the first of an index.
create or replace function ragdb_internal.turn_temporal(
  corpus_id integer, session_id text, created_at timestamptz)
returns real
language sql stable parallel safe
return (
  select coalesce(extract(epoch from turn_temporal.created_at - s.first)
      / nullif(extract(epoch from s.last - s.first), 0), 0)::real
    from (select
      (select t.created_at from ragdb.turns t
        where t.corpus_id = turn_temporal.corpus_id
          and t.session_id = turn_temporal.session_id
        order by t.created_at limit 1) as first,
      (select t.created_at from ragdb.turns t
        where t.corpus_id = turn_temporal.corpus_id
          and t.session_id = turn_temporal.session_id
        order by t.created_at desc limit 1) as last) s);

-- Returns the heading path of a turn: who speaks, where that has a name. As a play has it: a name
-- above what is said, so that it is found and shown with it.
create or replace function ragdb_internal.turn_heading(given jsonb) returns text[]
language sql immutable parallel safe
return case when given ->> 'speaker' is null then '{}' else array[given ->> 'speaker'] end;
