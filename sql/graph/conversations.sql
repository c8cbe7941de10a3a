-- The graph of conversations: turns are chunks that know their session, role and place; edges are
-- what was said to what.

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
  v_turns ragdb_internal.parsed_turn[];
  v_edges ragdb_internal.parsed_edge[];
  v_documents jsonb;
  v_result ragdb.put_result;
  v_written integer[] := '{}';
begin
  v_corpus := ragdb_internal.open_corpus(put_conversations.corpus, 'write');
  perform ragdb_internal.check_conversations(v_conversations);
  v_turns := array(select t from ragdb_internal.parsed_turns(v_corpus.name, v_conversations) t);
  v_edges := array(select e from ragdb_internal.parsed_edges(v_corpus.name, v_conversations) e);
  perform ragdb_internal.check_turns(v_turns, v_edges);
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
  perform ragdb_internal.derive_turns(v_corpus.corpus_id, array(
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
  v_corpus := ragdb_internal.open_corpus(get_turn.corpus, 'read');
  return query
    select c.chunk_id, t.session_id, t.role, t.phase, t.salience, t.depth, t.sibling_order,
        t.homogeneity, t.temporal, t.complexity, t.created_at, encode(c.content_hash, 'hex'), c.text
      from ragdb.chunks c join ragdb.turns t using (corpus_id, chunk_no)
      where c.corpus_id = v_corpus.corpus_id and c.chunk_id = get_turn.chunk_id;
  if not found then
    raise exception 'turn % is not in corpus %', ragdb_internal.quote(get_turn.chunk_id),
        ragdb_internal.quote(v_corpus.name)
      using errcode = 'RG406', detail = 'a turn is a chunk that came with a conversation',
            hint = 'ids of turns are UUIDs in lower case; ragdb.get_chunk() reads any chunk';
  end if;
end $$;
comment on function ragdb.get_turn(text, text) is
  'Returns a turn with its text and derived fields. Raises RG400, RG404, RG406.';
