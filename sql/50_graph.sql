-- The graph of conversations: turns are chunks that know their session, role and place; edges are
-- what was said to what.

-- SHA-1 serves nothing here but UUIDs of version 5 (RFC 9562), which are defined by it; the server
-- has no other.
create or replace function ragdb._sha1(data bytea) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mask constant bigint := 4294967295;
  v_data constant bytea := data || '\x80'::bytea
    || decode(repeat('00', (119 - octet_length(data) % 64) % 64), 'hex')
      || int8send(8::bigint * octet_length(data));
  h bigint[] := array[1732584193, 4023233417, 2562383102, 271733878, 3285377520];
  w bigint[];
  a bigint; b bigint; c bigint; d bigint; e bigint; f bigint; t bigint; j integer;
begin
  for v_block in 0..octet_length(v_data) / 64 - 1 loop
    for i in 1..16 loop
      j := 64 * v_block + 4 * i - 4;
      w[i] := (get_byte(v_data, j)::bigint << 24) | (get_byte(v_data, j + 1) << 16)
        | (get_byte(v_data, j + 2) << 8) | get_byte(v_data, j + 3);
    end loop;
    for i in 17..80 loop
      t := w[i - 3] # w[i - 8] # w[i - 14] # w[i - 16];
      w[i] := ((t << 1) | (t >> 31)) & v_mask;
    end loop;
    a := h[1]; b := h[2]; c := h[3]; d := h[4]; e := h[5];
    for i in 1..80 loop
      if i <= 20 then f := ((b & c) | ((~b & v_mask) & d)) + 1518500249;
      elsif i <= 40 then f := (b # c # d) + 1859775393;
      elsif i <= 60 then f := ((b & c) | (b & d) | (c & d)) + 2400959708;
      else f := (b # c # d) + 3395469782;
      end if;
      t := ((((a << 5) | (a >> 27)) & v_mask) + f + e + w[i]) & v_mask;
      e := d; d := c; c := ((b << 30) | (b >> 2)) & v_mask; b := a; a := t;
    end loop;
    h := array[(h[1] + a) & v_mask, (h[2] + b) & v_mask, (h[3] + c) & v_mask, (h[4] + d) & v_mask,
      (h[5] + e) & v_mask];
  end loop;
  return substr(int8send(h[1]), 5) || substr(int8send(h[2]), 5) || substr(int8send(h[3]), 5)
    || substr(int8send(h[4]), 5) || substr(int8send(h[5]), 5);
end $$;
comment on function ragdb._sha1(bytea) is
  'Returns the SHA-1 (FIPS 180-4) of some bytes, for UUIDs of version 5 alone.';

create or replace function ragdb._uuid5(namespace uuid, name bytea) returns uuid
language sql immutable strict parallel safe
begin atomic
  select pg_catalog.encode(
      pg_catalog.set_byte(pg_catalog.set_byte(pg_catalog.substr(s.bytes, 1, 16),
        6, (pg_catalog.get_byte(s.bytes, 6) & 15) | 80),
        8, (pg_catalog.get_byte(s.bytes, 8) & 63) | 128), 'hex')::uuid
    from (select ragdb._sha1(pg_catalog.uuid_send(namespace) || name) as bytes) s;
end;
comment on function ragdb._uuid5(uuid, bytea) is
  'Returns the UUID of version 5 (RFC 9562) of a name in a namespace.';

create or replace function ragdb._is_uuid(id text) returns boolean
language sql immutable parallel safe
return id ~ '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$';
comment on function ragdb._is_uuid(text) is 'Tells whether a text is a UUID with hyphens.';

-- A message id that is a UUID is kept in its canonical form; any other becomes one, the same in
-- every database.
-- Definer: what it calls is private.
create or replace function ragdb.turn_id(corpus text, session text, id text) returns text
language sql stable parallel safe security definer
return case when ragdb._is_uuid(id) then pg_catalog.lower(id collate "C")
  else ragdb._uuid5('5b8f3b54-7a0b-5d0c-9a53-3f6d1f4c2a10',
    ragdb._packed(corpus) || ragdb._packed(session) || ragdb._packed(id))::text end;
comment on function ragdb.turn_id(text, text, text) is
  'Returns the chunk id of a message: its own id when that is a UUID, else the version 5 UUID of '
  '(corpus, session, id).';

-- Phase by keywords and form. Each rule adds to one phase; the best of at least 0.3 wins, ties in
-- the order of the list.
create or replace function ragdb._turn_phase(role text, text text) returns text
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
    from (select pg_catalog.lower(_turn_phase.text collate "C") as low,
        pg_catalog.octet_length(_turn_phase.text) as length,
        pg_catalog.regexp_count(_turn_phase.text, '^[ \t]*([-*+]|[0-9]+[.)])[ \t]', 1, 'n')
          as items) t;
end;
comment on function ragdb._turn_phase(text, text) is
  'Returns the phase of a turn by its role and text: the rule of the highest weight of at least '
  '0.3, else exploration.';

-- Everything about turns that follows from their texts, order, edges and embeddings; run again
-- whenever a session changes, and when it has all its embeddings. Where a turn has several parents,
-- the one of the least id counts.
create or replace function ragdb._derive_turns(corpus_id integer, sessions text[]) returns void
language sql
begin atomic
  with recursive members as materialized (
    select t.chunk_no, t.session_id, t.role, t.given, t.created_at, c.text, c.chunk_id, v.embedding,
        pg_catalog.row_number() over (
          partition by t.session_id order by t.created_at, c.ordinal, c.chunk_id) as place,
        coalesce(t.given ->> 'phase', ragdb._turn_phase(t.role, c.text)) as phase
      from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)
      cross join ragdb._space(_derive_turns.corpus_id, 'current') s
      left join ragdb.chunk_embeddings v on v.space_id = s.space_id
        and v.corpus_id = t.corpus_id and v.chunk_no = t.chunk_no
      where t.corpus_id = _derive_turns.corpus_id
        and t.session_id = any (_derive_turns.sessions)
  ), answers as materialized (
    select e.parent_no, e.child_no, p.chunk_id as parent_id, p.embedding as parent_embedding
      from ragdb.edges e
      join members m on m.chunk_no = e.child_no
      join members p on p.chunk_no = e.parent_no
      where e.corpus_id = _derive_turns.corpus_id and e.edge_type in ('reply', 'branch')
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
      where e.corpus_id = _derive_turns.corpus_id and e.edge_type = 'reference'
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
          else ragdb._similarity(p.embedding, p.parent_embedding, 'cosine') end as homogeneity,
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
    where t.corpus_id = _derive_turns.corpus_id and t.chunk_no = d.chunk_no;
  update ragdb.edges e set child_salience = t.salience
    from ragdb.turns t
    where t.corpus_id = _derive_turns.corpus_id and t.session_id = any (_derive_turns.sessions)
      and e.corpus_id = t.corpus_id and e.child_no = t.chunk_no
      and e.child_salience <> t.salience;
end;
comment on function ragdb._derive_turns(integer, text[]) is
  'Sets phase, salience, depth, sibling order, homogeneity, temporal and complexity of the turns '
  'of some sessions; homogeneity and the novelty in salience where the turns that they compare are '
  'embedded.';

-- Once a session: with every batch, a long session would be derived anew for each.
create or replace function ragdb._derive_embedded_turns(
  space ragdb.embedding_spaces, chunk_nos integer[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_sessions text[] := array(
    select distinct t.session_id from ragdb.turns t
      where space.state = 'current' and t.corpus_id = space.corpus_id
        and t.chunk_no = any (_derive_embedded_turns.chunk_nos)
        and not exists (
          select from ragdb.turns o
            where o.corpus_id = t.corpus_id and o.session_id = t.session_id
              and not exists (select from ragdb.chunk_embeddings v where v.space_id = space.space_id
                and v.corpus_id = o.corpus_id and v.chunk_no = o.chunk_no)));
begin
  if v_sessions <> '{}' then
    perform ragdb._derive_turns(space.corpus_id, v_sessions);
  end if;
end $$;
comment on function ragdb._derive_embedded_turns(ragdb.embedding_spaces, integer[]) is
  'Derives anew the sessions of turns that have just been embedded and are complete in a current '
  'space; the caller holds the corpus lock.';

-- ── conversations ───────────────────────────────────────────────────────────────────────────────

-- What is put is parsed once: the ids of turns are costly where they are no UUIDs.
do $$ begin
  if pg_catalog.to_regtype('ragdb.parsed_turn') is null then
    create type ragdb.parsed_turn as (
      nth bigint, session_id text, place bigint, raw_id text, chunk_id text, role text,
      given jsonb, created_at timestamptz, text text);
    create type ragdb.parsed_edge as (
      nth bigint, parent_id text, child_id text, edge_type text, raw_parent text,
      raw_child text);
  end if;
end $$;
comment on type ragdb.parsed_turn is
  'A message of a conversation that is put: conversation (from 0), place in it, id as given and as '
  'chunk id.';
comment on type ragdb.parsed_edge is
  'A parent of a message that is put, by chunk ids and by the ids as given.';

create or replace function ragdb._parsed_turns(corpus text, conversations jsonb)
returns setof ragdb.parsed_turn
language sql stable parallel safe
begin atomic
  select c.n - 1, c.v ->> 'session', m.n,
      m.v ->> 'id', ragdb.turn_id(_parsed_turns.corpus, c.v ->> 'session', m.v ->> 'id'),
      case r.role when 'prompter' then 'user'
        when 'assistant' then r.role when 'system' then r.role when 'tool' then r.role
          else 'user' end,
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
        'phase', case when pg_catalog.lower(m.v ->> 'phase') in
            ('exploration', 'debugging', 'planning', 'consolidation', 'synthesis')
              then pg_catalog.lower(m.v ->> 'phase')
          when m.v ->> 'phase' is not null then 'exploration' end,
        'salience', m.v -> 'salience', 'feedback', m.v -> 'feedback')),
      coalesce((m.v ->> 'created_at')::timestamptz, pg_catalog.to_timestamp(m.n)),
      m.v ->> 'text'
    from pg_catalog.jsonb_array_elements(conversations) with ordinality c (v, n)
    cross join lateral pg_catalog.jsonb_array_elements(c.v -> 'messages') with ordinality m (v, n)
    cross join lateral (select pg_catalog.lower(m.v ->> 'role') as role) r;
end;
comment on function ragdb._parsed_turns(text, jsonb) is
  'Reads the messages of conversations: unknown roles and phases take their defaults, ids become '
  'UUIDs, a message without a time gets its place in the conversation as seconds.';

create or replace function ragdb._parsed_edges(corpus text, conversations jsonb)
returns setof ragdb.parsed_edge
language sql stable parallel safe
begin atomic
  select distinct c.n - 1, ragdb.turn_id(_parsed_edges.corpus, c.v ->> 'session', p.id),
      ragdb.turn_id(_parsed_edges.corpus, c.v ->> 'session', m.v ->> 'id'),
      case when pg_catalog.lower(p.edge_type) in ('branch', 'reference', 'reply')
        then pg_catalog.lower(p.edge_type) else 'default' end,
      p.id, m.v ->> 'id'
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
    where p.id is not null;
end;
comment on function ragdb._parsed_edges(text, jsonb) is
  'Reads the parents of messages: parent_id and plain ids in parents are replies, objects {"id", '
  '"edge_type"} say their type.';

-- A conversation that contradicts itself is refused whole, with the ids that do.
create or replace function ragdb._check_conversations(conversations jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_bad record;
begin
  if conversations is null or jsonb_typeof(conversations) <> 'array'
    or jsonb_array_length(conversations) > 1000 then
    raise exception 'conversations is not an array of at most 1000'
      using errcode = 'RG412', detail = 'put_conversations takes a JSON array',
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
      using errcode = 'RG412', detail = 'positions count from 0; nothing was written',
            hint = 'a conversation is {"doc_cid", "uri", "session", "messages": [{"id", '
                   '"parent_id", "role", "text"}]}';
  end if;
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
        or m.v ->> 'created_at' ~ '^\d{4}-'
          and pg_input_is_valid(m.v ->> 'created_at', 'timestamptz'),
        'created_at is not a time'),
      (7, coalesce(jsonb_typeof(m.v -> 'parents'), 'array') in ('array', 'null'),
        'parents is not an array')) f (i, is_fine, message)
    where not f.is_fine order by c.n, m.n, f.i limit 1;
  if v_bad.n is not null then
    raise exception 'conversation at position %, message %: %', v_bad.n, v_bad.place, v_bad.message
      using errcode = 'RG412', detail = 'messages count from 1; nothing was written',
            hint = 'a message is {"id", "parent_id" or "parents", "role", "text", "created_at", '
                   '"phase", "salience"}';
  end if;
end $$;
comment on function ragdb._check_conversations(jsonb) is
  'Raises RG412 for conversations with a field that is missing or bad.';

create or replace function ragdb._check_turns(
  turns ragdb.parsed_turn[], edges ragdb.parsed_edge[]) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_bad record;
begin
  select min(t.raw_id) as id into v_bad
    from unnest(_check_turns.turns) t group by t.chunk_id having count(*) > 1
      order by 1 limit 1;
  if v_bad.id is not null then
    raise exception 'two turns have the id %', ragdb._quote(v_bad.id)
      using errcode = 'RG412', detail = 'a turn is known by its id',
        hint = 'give every message an id of its own';
  end if;
  select e.raw_child, e.raw_parent, e.parent_id = e.child_id as is_self into v_bad
    from unnest(_check_turns.edges) e
    left join unnest(_check_turns.turns) t on t.chunk_id = e.parent_id and t.nth = e.nth
    where e.parent_id = e.child_id or t.chunk_id is null
    order by e.nth, e.raw_child, e.raw_parent limit 1;
  if v_bad.raw_child is not null then
    raise exception 'turn % has the parent %, which is %', ragdb._quote(v_bad.raw_child),
        ragdb._quote(v_bad.raw_parent),
        case when v_bad.is_self then 'the turn itself' else 'not in the conversation' end
      using errcode = 'RG412', detail = 'an edge joins two turns of one conversation',
            hint = 'put the whole conversation, or leave the parent out for a root';
  end if;
  with recursive edges as materialized (
    select e.parent_id, e.child_id from unnest(_check_turns.edges) e
      where e.edge_type in ('reply', 'branch')
  ), turns as materialized (
    select t.chunk_id, t.raw_id from unnest(_check_turns.turns) t
  ), reached as (
    select t.chunk_id from turns t
      where not exists (select from edges e where e.child_id = t.chunk_id)
    union
    select e.child_id from reached r join edges e on e.parent_id = r.chunk_id
  )
  -- what no root leads to is on a cycle or behind one
  select string_agg(ragdb._quote(z.raw_id), ', ') as ids into v_bad
    from (select t.raw_id from turns t
      where not exists (select from reached r where r.chunk_id = t.chunk_id)
      order by t.raw_id limit 5) z;
  if v_bad.ids is not null then
    raise exception 'replies form a cycle'
      using errcode = 'RG412', detail = 'turns on it or behind it: ' || v_bad.ids,
            hint = 'a reply or branch leads from an earlier turn to a later one; use a reference '
                   'for anything else';
  end if;
end $$;
comment on function ragdb._check_turns(ragdb.parsed_turn[], ragdb.parsed_edge[]) is
  'Raises RG412 for two turns of one id, a parent that is missing or the turn itself, or a cycle '
  'of replies.';

create or replace function ragdb.put_conversations(corpus text, conversations jsonb,
  force boolean default false)
returns setof ragdb.put_result
language plpgsql security definer -- turns and edges are granted to nobody
set search_path = pg_catalog, pg_temp
set timezone = 'UTC' -- a time without a zone means the same everywhere
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
  v_conversations constant jsonb := put_conversations.conversations;
  v_turns ragdb.parsed_turn[];
  v_edges ragdb.parsed_edge[];
  v_documents jsonb;
  v_result ragdb.put_result;
  v_written integer[] := '{}';
begin
  v_corpus := ragdb._open_corpus(put_conversations.corpus, 'write');
  perform ragdb._check_conversations(v_conversations);
  v_turns := array(select t from ragdb._parsed_turns(v_corpus.name, v_conversations) t);
  v_edges := array(select e from ragdb._parsed_edges(v_corpus.name, v_conversations) e);
  perform ragdb._check_turns(v_turns, v_edges);
  -- a conversation is a document whose chunks are its messages; its text is the messages with a
  -- blank line between
  select coalesce(jsonb_agg((c.v - 'messages' - 'session') || jsonb_build_object(
      'media_type', coalesce(c.v ->> 'media_type', 'application/x-conversation+json'),
      'size_bytes', coalesce(c.v -> 'size_bytes', to_jsonb(octet_length(c.v::text))),
      'chunking', jsonb_build_object('chunker', 'turns/1'),
      'chunks', coalesce(t.chunks, '[]')) order by c.n), '[]')
    into v_documents
    from jsonb_array_elements(v_conversations) with ordinality c (v, n)
    left join (
      select z.nth, jsonb_agg(jsonb_build_object('id', z.chunk_id, 'text', z.text,
          'start', z.ending - length(z.text), 'end', z.ending, 'heading', '[]'::jsonb,
          'tokens', (length(z.text) + 3) / 4) order by z.place) as chunks
        from (
          select t.*,
              sum(length(t.text) + 2) over (partition by t.nth order by t.place) - 2 as ending
            from unnest(v_turns) t) z
        group by z.nth) t on t.nth = c.n - 1;
  for v_result in
    select p.* from ragdb.put_documents(put_conversations.corpus, v_documents,
      put_conversations.force) p
  loop
    if not v_result.was_duplicate then v_written := v_written || v_result."position"; end if;
    return next v_result;
  end loop;

  insert into ragdb.turns
    select v_corpus.corpus_id, c.chunk_no, t.session_id, t.role, 'exploration', 0.5, 0, 0, 0.5, 0,
      1, t.given, t.created_at
      from unnest(v_turns) t
      join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = t.chunk_id
      where t.nth = any(v_written)
    on conflict (corpus_id, chunk_no) do update
      set session_id = excluded.session_id, role = excluded.role, given = excluded.given,
        created_at = excluded.created_at;
  delete from ragdb.edges e
    using unnest(v_turns) t
    join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = t.chunk_id
    where t.nth = any(v_written) and e.corpus_id = v_corpus.corpus_id and e.child_no = c.chunk_no
      -- a document may link to the conversation
      and exists (select from ragdb.turns p
        where p.corpus_id = e.corpus_id and p.chunk_no = e.parent_no)
      and not exists (select
        from unnest(v_edges) g
        join ragdb.chunks p on p.corpus_id = v_corpus.corpus_id and p.chunk_id = g.parent_id
        where g.child_id = t.chunk_id and p.chunk_no = e.parent_no and g.edge_type = e.edge_type);
  insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type)
    select v_corpus.corpus_id, p.chunk_no, k.chunk_no, g.edge_type
      from unnest(v_edges) g
      join ragdb.chunks p on p.corpus_id = v_corpus.corpus_id and p.chunk_id = g.parent_id
      join ragdb.chunks k on k.corpus_id = v_corpus.corpus_id and k.chunk_id = g.child_id
      where g.nth = any(v_written)
      order by p.chunk_no, k.chunk_no, g.edge_type
    on conflict do nothing;
  perform ragdb._derive_turns(v_corpus.corpus_id, array(
    select distinct t.session_id from unnest(v_turns) t
      where t.nth = any(v_written)));
end $$;
comment on function ragdb.put_conversations(text, jsonb, boolean) is
  'Stores conversations, an array of {"doc_cid", "uri", "session", "messages": [{"id", "parent_id" '
  'or "parents", "role", "text", "created_at", "phase", "salience", "feedback"}]} beside the '
  'fields of a document: each message is a chunk and a turn, each parent an edge; what is not '
  'given is derived. Returns what put_documents returns. Raises RG401, RG404, RG412 and what '
  'put_documents raises.';

create or replace function ragdb.get_turn(corpus text, chunk_id text)
returns table (turn_id text, session_id text, role text, phase text, salience real, depth integer,
  sibling_order integer, homogeneity real, temporal real, complexity real, created_at timestamptz,
  content_hash text, text text)
-- turns and chunks are granted to nobody
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
begin
  v_corpus := ragdb._open_corpus(get_turn.corpus, 'read');
  return query
    select c.chunk_id, t.session_id, t.role, t.phase, t.salience, t.depth, t.sibling_order,
        t.homogeneity, t.temporal, t.complexity, t.created_at, encode(c.content_hash, 'hex'), c.text
      from ragdb.chunks c join ragdb.turns t using (corpus_id, chunk_no)
      where c.corpus_id = v_corpus.corpus_id and c.chunk_id = get_turn.chunk_id;
  if not found then
    raise exception 'turn % is not in corpus %', ragdb._quote(get_turn.chunk_id),
        ragdb._quote(v_corpus.name)
      using errcode = 'RG406', detail = 'a turn is a chunk that came with a conversation',
            hint = 'ids of turns are UUIDs in lower case; ragdb.get_chunk() reads any chunk';
  end if;
end $$;
comment on function ragdb.get_turn(text, text) is
  'Returns a turn with its text and derived fields. Raises RG400, RG404, RG406.';

-- ── anchors ─────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.resolve_explicit(corpus text, chunk_id text) returns text
language sql stable parallel safe security definer -- chunks is granted to nobody
set search_path = pg_catalog, pg_temp
begin atomic
  select c.chunk_id from ragdb._open_corpus(resolve_explicit.corpus, 'read') o
    join ragdb.chunks c on c.corpus_id = o.corpus_id
    where c.chunk_id = resolve_explicit.chunk_id;
end;
comment on function ragdb.resolve_explicit(text, text) is
  'Returns the chunk id when the corpus has that chunk, else null. Raises RG400, RG404.';

create or replace function ragdb.resolve_from_session(corpus text, session text) returns text
language sql stable parallel safe security definer -- turns is granted to nobody
set search_path = pg_catalog, pg_temp
begin atomic
  select c.chunk_id from ragdb._open_corpus(resolve_from_session.corpus, 'read') o
    join ragdb.turns t on t.corpus_id = o.corpus_id
    join ragdb.chunks c on c.corpus_id = t.corpus_id and c.chunk_no = t.chunk_no
    where t.session_id = resolve_from_session.session
    order by t.created_at desc, c.chunk_id limit 1;
end;
comment on function ragdb.resolve_from_session(text, text) is
  'Returns the latest turn of a session, or null when it has none. Raises RG400, RG404.';

create or replace function ragdb.resolve_temporal(corpus text, count integer default 1,
  project text default null)
returns table (chunk_id text, session_id text, created_at timestamptz)
language plpgsql stable parallel safe security definer -- turns is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
begin
  v_corpus := ragdb._open_corpus(resolve_temporal.corpus, 'read');
  if coalesce(resolve_temporal.count not between 1 and 1000, true) then
    raise exception 'count is not 1 to 1000'
      using errcode = 'RG400', detail = 'it is ' || coalesce(resolve_temporal.count::text, 'null'),
            hint = 'ask for fewer turns';
  end if;
  return query
    select c.chunk_id, t.session_id, t.created_at
      from ragdb.turns t
        join ragdb.chunks c using (corpus_id, chunk_no)
        join ragdb.documents d using (corpus_id, doc_no)
      where t.corpus_id = v_corpus.corpus_id
        and (resolve_temporal.project is null
          or d.metadata ->> 'project' = resolve_temporal.project)
      order by t.created_at desc, c.chunk_id limit resolve_temporal.count;
end $$;
comment on function ragdb.resolve_temporal(text, integer, text) is
  'Returns the 1 to 1000 most recent turns, of conversations whose metadata names the project when '
  'one is given. Raises RG400, RG404.';
