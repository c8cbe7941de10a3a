-- The graph of conversations: turns are chunks that know their session, role and place; edges are
-- what was said to what.

-- Returns conversations as ragdb_internal.put_given takes them. A conversation is a document whose
-- chunks are its messages; its text is the messages with a blank line between.
create or replace function ragdb_internal.conversation_documents(
  conversations jsonb, turns ragdb_internal.parsed_turn[])
returns jsonb
language sql stable parallel safe
return coalesce((
  select pg_catalog.jsonb_agg((c.v - 'messages' - 'session') || pg_catalog.jsonb_build_object(
        'media_type', coalesce(c.v ->> 'media_type', 'application/x-conversation+json'),
        'size_bytes', coalesce(c.v -> 'size_bytes',
          pg_catalog.to_jsonb(pg_catalog.octet_length(c.v::text))),
        'chunking', pg_catalog.jsonb_build_object('chunker', 'turns/1'),
        'chunks', coalesce(t.chunks, '[]')) order by c.n)
    from pg_catalog.jsonb_array_elements(conversations) with ordinality c (v, n)
    left join (
      select z.nth, pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
            'id', z.chunk_id, 'text', z.text,
            'start', z.ending - pg_catalog.length(z.text), 'end', z.ending,
            'heading', pg_catalog.to_jsonb(ragdb_internal.turn_heading(z.given)),
            'tokens', (pg_catalog.length(z.text) + 3) / 4) order by z.place) as chunks
        from (
          select t.*,
              pg_catalog.sum(pg_catalog.length(t.text) + 2)
                over (partition by t.nth order by t.place) - 2 as ending
            from pg_catalog.unnest(turns) t) z
        group by z.nth) t on t.nth = c.n - 1), '[]');

-- Stores turns whose chunks are stored; what is derived from others is yet to come. Every chunk and
-- edge is looked up by its key (lateral, offset 0), and by a number of the corpus that the planner
-- does not see: of a corpus that is new it believes that it has a row or two, and would scan it for
-- each message. Its plan may be kept, because that of the foreign key would be made for each too.
create or replace function ragdb_internal.store_turns(
  corpus_id integer, turns ragdb_internal.parsed_turn[])
returns void
language sql
set plan_cache_mode = auto
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
begin atomic
  insert into ragdb.turns (corpus_id, chunk_no, turn_id, session_id, role, phase, salience, depth,
      place, answers_no, sibling_order, homogeneity, complexity, given, created_at)
    select store_turns.corpus_id, c.chunk_no, t.chunk_id::uuid, t.session_id, t.role,
        coalesce(t.given ->> 'phase', ragdb_internal.turn_phase(t.role, t.text)), 0.5, 0,
        c.ordinal, 0, 0, 0.5, ragdb_internal.turn_complexity(t.text), t.given, t.created_at
      from pg_catalog.unnest(array[store_turns.corpus_id]) k (corpus_id)
      cross join pg_catalog.unnest(turns) t
      cross join lateral (
        select c.chunk_no, c.ordinal from ragdb.chunks c
          where c.corpus_id = k.corpus_id and c.chunk_id = t.chunk_id
          offset 0) c
    on conflict (corpus_id, chunk_no) do update
      set turn_id = excluded.turn_id, session_id = excluded.session_id, role = excluded.role,
          phase = excluded.phase, place = excluded.place, complexity = excluded.complexity,
          given = excluded.given, created_at = excluded.created_at;
end;

-- Returns edges by the numbers of their chunks.
create or replace function ragdb_internal.numbered_edges(
  corpus_id integer, edges ragdb_internal.parsed_edge[])
returns table (parent_no integer, child_no integer, edge_type text)
language sql stable parallel safe
begin atomic
  select p.chunk_no, k.chunk_no, g.edge_type
    from pg_catalog.unnest(array[numbered_edges.corpus_id]) n (corpus_id)
    cross join pg_catalog.unnest(numbered_edges.edges) g
    cross join lateral (
      select c.chunk_no from ragdb.chunks c
        where c.corpus_id = n.corpus_id and c.chunk_id = g.parent_id
        offset 0) p
    cross join lateral (
      select c.chunk_no from ragdb.chunks c
        where c.corpus_id = n.corpus_id and c.chunk_id = g.child_id
        offset 0) k;
end;

-- Returns the edges that conversations say, from a turn to one of these, with their places in the
-- table. A turn may have come from another document: its old edges lead over there. References do,
-- too, that a document says.
create or replace function ragdb_internal.edges_between_turns(
  corpus_id integer, turns ragdb_internal.parsed_turn[])
returns table (at tid, parent_no integer, child_no integer, edge_type text)
language sql stable parallel safe
begin atomic
  select e.at, e.parent_no, e.child_no, e.edge_type
    from pg_catalog.unnest(array[edges_between_turns.corpus_id]) n (corpus_id)
    cross join pg_catalog.unnest(edges_between_turns.turns) t
    cross join lateral (
      select c.chunk_no, c.doc_no from ragdb.chunks c
        where c.corpus_id = n.corpus_id and c.chunk_id = t.chunk_id
        offset 0) c
    cross join lateral (
      select e.ctid as at, e.parent_no, e.child_no, e.edge_type from ragdb.edges e
        where e.corpus_id = n.corpus_id and e.child_no = c.chunk_no and not e.is_added
        offset 0) e
    cross join lateral (
      select from ragdb.chunks p
        where p.corpus_id = n.corpus_id and p.chunk_no = e.parent_no
          and (p.doc_no = c.doc_no or e.edge_type <> 'reference')
        offset 0) p;
end;

-- Makes the edges between turns those of their conversations. Edges that the conversation no longer
-- has go. A document may link to the conversation: such an edge stays.
create or replace function ragdb_internal.store_edges(
  corpus_id integer, turns ragdb_internal.parsed_turn[], edges ragdb_internal.parsed_edge[])
returns void
language sql
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
begin atomic
  delete from ragdb.edges e where e.ctid = any (array(
    select o.at
      from ragdb_internal.edges_between_turns(store_edges.corpus_id, turns) o
      where (o.parent_no, o.child_no, o.edge_type) not in (
        select n.parent_no, n.child_no, n.edge_type
          from ragdb_internal.numbered_edges(store_edges.corpus_id, edges) n)));
  insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type)
    select store_edges.corpus_id, n.parent_no, n.child_no, n.edge_type
      from ragdb_internal.numbered_edges(store_edges.corpus_id, edges) n
      order by n.parent_no, n.child_no, n.edge_type
    on conflict do nothing;
end;

-- Stores turns whose chunks are stored, and what was said to what. Raises RG412.
create or replace function ragdb_internal.store_said(
  corpus_id integer, turns ragdb_internal.parsed_turn[], edges ragdb_internal.parsed_edge[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.store_turns(store_said.corpus_id, turns),
    ragdb_internal.renew_statistics('{ragdb.turns}');
  perform ragdb_internal.store_edges(store_said.corpus_id, turns, edges),
    ragdb_internal.renew_statistics('{ragdb.edges}');
  perform ragdb_internal.check_joined(store_said.corpus_id, turns);
end $$;

-- Has events of this transaction tell of the turns of their documents too. Messages are chunks
-- before they are turns.
create or replace function ragdb_internal.tell_turns(corpus_id integer, event_ids uuid[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_doc_nos integer[];
  v_ids uuid[];
begin
  select array_agg(d.doc_no), array_agg(d.event_id) into v_doc_nos, v_ids
    from unnest(event_ids) g (event_id)
      cross join lateral (
        select e.doc_cid from ragdb.events e
        where e.corpus_id = tell_turns.corpus_id and e.event_id = g.event_id offset 0) e
      cross join lateral (
        select h.doc_no, h.event_id from ragdb.documents h
        where h.corpus_id = tell_turns.corpus_id and h.doc_cid = e.doc_cid offset 0) d
    where d.event_id = g.event_id;
  update ragdb.events e set chunks_hash = h.hash
    from unnest(v_ids, ragdb_internal.told_chunks(tell_turns.corpus_id, v_doc_nos, null))
      h (event_id, hash)
      cross join lateral (
        select o.ctid from ragdb.events o
        where o.corpus_id = tell_turns.corpus_id and o.event_id = h.event_id offset 0) o
    where e.ctid = o.ctid;
end $$;

-- Returns the sessions of conversations that come under another one. Their turns elsewhere stay.
create or replace function ragdb_internal.sessions_left(corpus_id integer, conversations jsonb)
returns text[]
language sql stable parallel safe
return array(
  select s.session_id
  from pg_catalog.jsonb_array_elements(sessions_left.conversations) c
    cross join lateral pg_catalog.unnest(ragdb_internal.sessions_at_sources(
      sessions_left.corpus_id, array[c ->> 'uri'])) s (session_id)
  where s.session_id is distinct from c ->> 'session');

create or replace function ragdb.put_conversations(
  corpus text, conversations jsonb, force boolean default false)
returns setof ragdb.put_result
language plpgsql security definer -- turns and edges are granted to nobody
set search_path = pg_catalog, pg_temp
set timezone = 'UTC' -- a time without a zone means the same everywhere
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(put_conversations.corpus, 'write');
  v_turns ragdb_internal.parsed_turn[];
  v_edges ragdb_internal.parsed_edge[];
  v_left text[];
  v_before ragdb_internal.turn_place[];
  v_result ragdb.put_result;
  v_written integer[] := '{}';
  v_events uuid[] := '{}';
begin
  perform ragdb_internal.check_conversations(conversations),
    ragdb_internal.check_messages(conversations);
  v_turns := array(select t from ragdb_internal.parsed_turns(v_corpus.name, conversations) t);
  v_edges := array(
    select e from ragdb_internal.parsed_edges(v_corpus.name, conversations, v_turns) e);
  perform ragdb_internal.check_turns(v_turns, v_edges, '{}'),
    ragdb_internal.check_replies(v_turns, v_edges);
  v_left := ragdb_internal.sessions_left(v_corpus.corpus_id, conversations);
  v_before := array(select ragdb_internal.first_at_sources(v_corpus.corpus_id, array[v ->> 'uri'])
    from jsonb_array_elements(conversations) with ordinality c (v, n) order by n);
  for v_result in
    select p.* from ragdb_internal.put_given(put_conversations.corpus,
      ragdb_internal.conversation_documents(put_conversations.conversations, v_turns),
      put_conversations.force, true) p
  loop
    if not v_result.was_duplicate then
      v_written := v_written || v_result."position";
      v_events := v_events || v_result.ingest_event_id;
    end if;
    return next v_result;
  end loop;
  v_turns := array(select t from unnest(v_turns) t where t.nth = any (v_written));
  v_edges := array(select e from unnest(v_edges) e where e.nth = any (v_written));
  perform ragdb_internal.store_said(v_corpus.corpus_id, v_turns, v_edges);
  perform ragdb_internal.tell_turns(v_corpus.corpus_id, v_events);
  perform ragdb_internal.derive_turns(v_corpus.corpus_id, array(
    select t.session_id from unnest(v_turns) t union select s from unnest(v_left) s),
    ragdb_internal.first_written(v_corpus.corpus_id, v_before, v_written, v_turns));
end $$;
comment on function ragdb.put_conversations is
  'Stores conversations, an array of {"doc_cid", "uri", "session", "messages": [{"id", "parent_id" '
  'or "parents", "role", "speaker", "text", "created_at", "phase", "salience", "feedback"}]} '
  'beside the fields of a document: each message is a chunk and a turn, each parent an edge; what '
  'is not given is derived. The name of a speaker is the heading of what is said. Returns what '
  'put_documents returns. Raises RG401, RG404, RG412 and what put_documents raises.';
