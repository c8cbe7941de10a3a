-- Conversations as they are put, read into turns and edges. That is done once: an id that is not a
-- UUID costs a SHA-1.

-- A message of a conversation that is put: conversation (from 0), place in it, id as given and as
-- chunk id.
create type ragdb_internal.parsed_turn as (
  nth bigint, session_id text, place bigint, raw_id text, chunk_id text, role text, given jsonb,
  created_at timestamptz, text text);

-- A parent of a message that is put, by chunk ids and by the ids as given.
create type ragdb_internal.parsed_edge as (
  nth bigint, parent_id text, child_id text, edge_type text, raw_parent text, raw_child text);

-- Returns the role of a turn by what programs and exports call it; any other is a user.
create or replace function ragdb_internal.turn_role(given text) returns text
language sql immutable parallel safe
return case lower(given collate "C")
  when 'assistant' then 'assistant' when 'ai' then 'assistant' when 'model' then 'assistant'
  when 'gpt' then 'assistant' when 'chatgpt' then 'assistant'
  when 'system' then 'system' when 'developer' then 'system'
  when 'tool' then 'tool' when 'function' then 'tool' when 'observation' then 'tool'
  else 'user' end;

-- Reads the messages of conversations: unknown roles and phases take their defaults, ids become
-- UUIDs, a message without a time gets its place in the conversation as seconds.
create or replace function ragdb_internal.parsed_turns(corpus text, conversations jsonb)
returns setof ragdb_internal.parsed_turn
language sql stable parallel safe
begin atomic
  select c.n - 1, c.v ->> 'session', m.n,
      m.v ->> 'id', ragdb.turn_id(parsed_turns.corpus, c.v ->> 'session', m.v ->> 'id'),
      ragdb_internal.turn_role(m.v ->> 'role'),
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
        'phase', case
          when pg_catalog.lower(m.v ->> 'phase' collate "C") = any (ragdb_internal.phases())
            then pg_catalog.lower(m.v ->> 'phase' collate "C")
          when m.v ->> 'phase' is not null then 'exploration' end,
        'salience', m.v -> 'salience', 'feedback', m.v -> 'feedback',
        'speaker', m.v ->> 'speaker')),
      coalesce((m.v ->> 'created_at')::timestamptz, pg_catalog.to_timestamp(m.n)),
      m.v ->> 'text'
    from pg_catalog.jsonb_array_elements(conversations) with ordinality c (v, n)
    cross join lateral pg_catalog.jsonb_array_elements(c.v -> 'messages') with ordinality m (v, n);
end;

-- Reads the parents of messages: parent_id and plain ids in parents are replies, objects {"id",
-- "edge_type"} say their type. Ids of the turns of this call are looked up there. What messages say
-- is read before that (materialized): else all messages are read again for each turn.
create or replace function ragdb_internal.parsed_edges(
  corpus text, conversations jsonb, turns ragdb_internal.parsed_turn[])
returns setof ragdb_internal.parsed_edge
language sql stable parallel safe
begin atomic
  with made as materialized (
    select distinct t.nth, t.raw_id, t.chunk_id from pg_catalog.unnest(parsed_edges.turns) t
  ), said as materialized (
    select c.n - 1 as nth, c.v ->> 'session' as session, m.v ->> 'id' as child, p.id, p.edge_type
      from pg_catalog.jsonb_array_elements(conversations) with ordinality c (v, n)
      cross join lateral pg_catalog.jsonb_array_elements(c.v -> 'messages') m (v)
      cross join lateral (
        select m.v ->> 'parent_id' as id, 'reply' as edge_type
        union all
        select
            case pg_catalog.jsonb_typeof(q.v) when 'object' then q.v ->> 'id' else q.v #>> '{}' end,
            case pg_catalog.jsonb_typeof(q.v) when 'object'
              then coalesce(q.v ->> 'edge_type', 'default') else 'reply' end
          from pg_catalog.jsonb_array_elements(
            case pg_catalog.jsonb_typeof(m.v -> 'parents') when 'array' then m.v -> 'parents'
              else '[]' end) q (v)) p
      where p.id is not null
  )
  select distinct s.nth,
      coalesce(k.chunk_id, ragdb.turn_id(parsed_edges.corpus, s.session, s.id)), o.chunk_id,
      case when ragdb_internal.edge_order(pg_catalog.lower(s.edge_type collate "C")) is not null
        then pg_catalog.lower(s.edge_type collate "C") else 'default' end,
      s.id, s.child
    from said s
    join made o on (o.nth, o.raw_id) = (s.nth, s.child)
    left join made k on (k.nth, k.raw_id) = (s.nth, s.id);
end;
