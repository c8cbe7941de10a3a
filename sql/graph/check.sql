-- A conversation that contradicts itself is refused whole, with the ids that do.

-- Refuses what is not an array of at most 1000 conversations, each with its session and its
-- messages. Raises RG412.
create or replace function ragdb_internal.check_conversations(conversations jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_bad record;
begin
  if conversations is null or jsonb_typeof(conversations) <> 'array'
    or jsonb_array_length(conversations) > 1000
  then
    raise exception 'conversations is not an array of at most 1000'
      using errcode = 'RG412',
        detail = 'put_conversations takes a JSON array',
        hint = 'one conversation goes in an array of one';
  end if;
  select c.n - 1 as n, f.message into v_bad
    from jsonb_array_elements(conversations) with ordinality c (v, n)
    cross join lateral (values
      (1, jsonb_typeof(c.v) = 'object', 'it is not an object'),
      (2, coalesce(octet_length(c.v ->> 'session') between 1 and 500, false),
        'session is not a text of 1 to 500 bytes'),
      (3, coalesce(jsonb_typeof(c.v -> 'messages') = 'array', false),
        'messages is not an array')) f (i, is_fine, message)
    where not f.is_fine order by c.n, f.i limit 1;
  if v_bad.n is not null then
    raise exception 'conversation at position %: %', v_bad.n, v_bad.message
      using errcode = 'RG412',
        detail = 'positions count from 0; nothing was written',
        hint = 'a conversation is {"doc_cid", "uri", "session", "messages": '
          '[{"id", "parent_id", "role", "text"}]}';
  end if;
end $$;

-- Refuses conversations of which a message has a field that is missing or bad. Raises RG412.
create or replace function ragdb_internal.check_messages(conversations jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_bad record;
begin
  select c.n - 1 as n, m.n as place, f.message into v_bad
    from jsonb_array_elements(conversations) with ordinality c (v, n)
    cross join lateral jsonb_array_elements(c.v -> 'messages') with ordinality m (v, n)
    cross join lateral (values
      (1, jsonb_typeof(m.v) = 'object', 'it is not an object'),
      (2, coalesce(octet_length(m.v ->> 'id') between 1 and 500, false),
        'id is not a text of 1 to 500 bytes'),
      (3, coalesce(jsonb_typeof(m.v -> 'text') = 'string'
        and btrim(m.v ->> 'text', E' \t\n\r\f\v') <> '', false), 'text is missing or blank'),
      (4, coalesce(jsonb_typeof(m.v -> 'salience'), 'null') = 'null'
        or jsonb_typeof(m.v -> 'salience') = 'number'
        and (m.v ->> 'salience')::numeric between 0 and 1, 'salience is not a number of 0 to 1'),
      (5, coalesce(jsonb_typeof(m.v -> 'feedback'), 'null') in ('null', 'number'),
        'feedback is not a number'),
      (6, coalesce(jsonb_typeof(m.v -> 'created_at'), 'null') = 'null'
        or ragdb_internal.is_time(m.v ->> 'created_at'), 'created_at is not a time'),
      (7, coalesce(jsonb_typeof(m.v -> 'parents'), 'array') in ('array', 'null'),
        'parents is not an array'),
      (8, coalesce(jsonb_typeof(m.v -> 'speaker'), 'null') = 'null'
        or jsonb_typeof(m.v -> 'speaker') = 'string'
        and length(m.v ->> 'speaker') <= 200 and btrim(m.v ->> 'speaker') <> '',
        'speaker is not a name of 1 to 200 characters')) f (i, is_fine, message)
    where not f.is_fine order by c.n, m.n, f.i limit 1;
  if v_bad.n is not null then
    raise exception 'conversation at position %, message %: %',
        v_bad.n, v_bad.place, v_bad.message
      using errcode = 'RG412',
        detail = 'messages count from 1; nothing was written',
        hint = 'a message is {"id", "parent_id" or "parents", "role", "text", "created_at", '
          '"phase", "salience", "speaker"}, and a time is like 2026-11-20T09:30:00Z';
  end if;
end $$;

-- Refuses two turns of one id, and a parent that is the turn itself, or neither given nor known
-- (chunk ids). Raises RG412.
create or replace function ragdb_internal.check_turns(
  turns ragdb_internal.parsed_turn[], edges ragdb_internal.parsed_edge[], known text[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_bad record;
begin
  select min(t.raw_id) as id into v_bad
    from unnest(check_turns.turns) t group by t.chunk_id having count(*) > 1
    order by 1 limit 1;
  if v_bad.id is not null then
    raise exception 'two turns have the id %', ragdb_internal.quote(v_bad.id)
      using errcode = 'RG412',
        detail = 'a turn is known by its id',
        hint = 'give every message an id of its own';
  end if;
  select e.raw_child, e.raw_parent, e.parent_id = e.child_id as is_self into v_bad
    from unnest(check_turns.edges) e
    left join unnest(check_turns.turns) t on t.chunk_id = e.parent_id and t.nth = e.nth
    where e.parent_id = e.child_id or t.chunk_id is null and e.parent_id <> all (known)
    order by e.nth, e.raw_child, e.raw_parent limit 1;
  if v_bad.raw_child is not null then
    raise exception 'turn % has the parent %, which is %', ragdb_internal.quote(v_bad.raw_child),
        ragdb_internal.quote(v_bad.raw_parent),
        case when v_bad.is_self then 'the turn itself' else 'not in the conversation' end
      using errcode = 'RG412',
        detail = 'here an edge joins two turns of one conversation',
        hint = 'put the whole conversation, append a turn after what it answers, or leave the '
          'parent out for a root; ragdb.add_edges() joins turns of two conversations';
  end if;
end $$;

-- Refuses replies and branches that form a cycle. What no root leads to is on a cycle or behind
-- one. Raises RG412.
create or replace function ragdb_internal.check_replies(
  turns ragdb_internal.parsed_turn[], edges ragdb_internal.parsed_edge[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_ids text;
begin
  with recursive edges as materialized (
    select e.parent_id, e.child_id from unnest(check_replies.edges) e
      where e.edge_type in ('reply', 'branch')
  ), turns as materialized (
    select t.chunk_id, t.raw_id from unnest(check_replies.turns) t
  ), reached as (
    select t.chunk_id from turns t
      where not exists (select from edges e where e.child_id = t.chunk_id)
    union
    select e.child_id from reached r join edges e on e.parent_id = r.chunk_id
  )
  select string_agg(ragdb_internal.quote(z.raw_id), ', ') into v_ids
    from (select t.raw_id from turns t
      where not exists (select from reached r where r.chunk_id = t.chunk_id)
      order by t.raw_id limit 5) z;
  if v_ids is not null then
    raise exception 'replies form a cycle'
      using errcode = 'RG412',
        detail = 'turns on it or behind it: ' || v_ids,
        hint = 'a reply or branch leads from an earlier turn to a later one; use a reference '
          'for anything else';
  end if;
end $$;

-- Refuses stored replies and branches that lead back to where they began. Upwards: a reply has few
-- turns above it, and may have many below. A cycle has a new edge. Raises RG412.
create or replace function ragdb_internal.check_acyclic(
  corpus_id integer, edges ragdb_internal.chunk_edge[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
as $$
#variable_conflict use_column
declare
  v_above integer[];
  v_children integer[];
  v_parents integer[];
begin
  with recursive above as (
    select g.child_no as chunk_no from unnest(edges) g where g.edge_type in ('reply', 'branch')
    union
    select e.parent_no from above a
      cross join lateral (select o.parent_no from ragdb.edges o
        where o.corpus_id = check_acyclic.corpus_id and o.child_no = a.chunk_no
          and o.edge_type in ('reply', 'branch') offset 0) e
  )
  select array_agg(a.chunk_no) into v_above from above a;
  select array_agg(n.chunk_no), array_agg(e.parent_no) into v_children, v_parents
    from unnest(v_above) n (chunk_no)
    cross join lateral (select distinct o.parent_no from ragdb.edges o
      where o.corpus_id = check_acyclic.corpus_id and o.child_no = n.chunk_no
        and o.edge_type in ('reply', 'branch') offset 0) e;
  if v_above is not null then
    perform ragdb_internal.turn_depths(
      check_acyclic.corpus_id, v_above, v_children, v_parents);
  end if;
end $$;

-- Refuses stored replies and branches that form a cycle by edges that were added to some turns:
-- those of a conversation alone are refused before. Raises RG412.
create or replace function ragdb_internal.check_joined(
  corpus_id integer, turns ragdb_internal.parsed_turn[])
returns void
language sql stable parallel safe
set plan_cache_mode = auto
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
return ragdb_internal.check_acyclic(check_joined.corpus_id, array(
  select row(e.parent_no, e.child_no, e.edge_type)::ragdb_internal.chunk_edge
    from pg_catalog.unnest(array[check_joined.corpus_id]) n (corpus_id)
    cross join pg_catalog.unnest(check_joined.turns) t
    cross join lateral (
      select c.chunk_no from ragdb.chunks c
        where c.corpus_id = n.corpus_id and c.chunk_id = t.chunk_id offset 0) c
    cross join lateral (
      select h.parent_no, h.child_no, h.edge_type from ragdb.edges h
        where h.corpus_id = n.corpus_id and h.child_no = c.chunk_no and h.is_added
        offset 0) e));
