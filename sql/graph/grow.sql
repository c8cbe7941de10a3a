-- Appending turns to a session: what is refused, what is there already, and what is new.

-- Returns turns that are appended as a conversation; those without a time are said at that one.
create or replace function ragdb_internal.given_session(
  session text, turns jsonb, said timestamptz)
returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object(
  'session', session,
  'messages', case pg_catalog.jsonb_typeof(turns) when 'array' then (
      select coalesce(pg_catalog.jsonb_agg(
          case when pg_catalog.jsonb_typeof(t.v) = 'object' and t.v ->> 'created_at' is null
            then t.v || pg_catalog.jsonb_build_object('created_at', said)
            else t.v end order by t.n), '[]')
        from pg_catalog.jsonb_array_elements(turns) with ordinality t (v, n))
    else turns end));

-- Refuses turns that have a field which nothing reads. Raises RG412.
create or replace function ragdb_internal.check_turn_fields(turns jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fields constant text[] := '{id,parent_id,parents,role,text,created_at,phase,salience,speaker,
    feedback}';
  v_bad record;
begin
  select t.n, k.name into v_bad
    from jsonb_array_elements(turns) with ordinality t (v, n)
      cross join lateral jsonb_object_keys(t.v) k (name)
    where k.name <> all (v_fields) order by t.n, k.name limit 1;
  if found then
    raise exception 'turn %: % is not a field of a turn', v_bad.n, ragdb_internal.quote(v_bad.name)
      using errcode = 'RG412', detail = 'turns count from 1; nothing was written',
        hint = 'its fields are ' || array_to_string(v_fields, ', ');
  end if;
end $$;

-- Refuses turns that are not complete, or too many, and a document with other fields than it may
-- have. Raises RG400, RG412, RG413.
create or replace function ragdb_internal.check_appended(conversation jsonb, document jsonb)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant integer := (ragdb_internal.limits()).call_documents;
begin
  if coalesce(jsonb_typeof(conversation #> '{0,messages}'), '') <> 'array' then
    raise exception 'turns is not an array'
      using errcode = 'RG412', detail = 'nothing was written',
        hint = 'one turn goes in an array of one: [{"id", "parent_id", "role", "text"}]';
  end if;
  perform ragdb_internal.check_conversations(conversation);
  if jsonb_array_length(conversation #> '{0,messages}') > v_most then
    raise exception '% turns in one call', jsonb_array_length(conversation #> '{0,messages}')
      using errcode = 'RG413', detail = 'a call is one transaction',
        hint = format('append at most %s turns in a call', v_most);
  end if;
  perform ragdb_internal.check_messages(conversation);
  perform ragdb_internal.check_turn_fields(conversation #> '{0,messages}');
  if jsonb_typeof(document) <> 'object'
    or document - array['title', 'language', 'metadata'] <> '{}'
  then
    raise exception 'document is not an object of title, language and metadata'
      using errcode = 'RG400',
        detail = 'it is what the document of a new session says of itself',
        hint = 'leave it out, or give {"title": "…", "metadata": {"project": "…"}}';
  end if;
end $$;

-- Returns those parents of edges that are stored turns of a session.
create or replace function ragdb_internal.known_parents(
  corpus_id integer, session text, edges ragdb_internal.parsed_edge[])
returns text[]
language sql stable parallel safe
set cpu_index_tuple_cost = 1000
return array(
  select g.parent_id
    from (select distinct e.parent_id from pg_catalog.unnest(edges) e) g
    cross join lateral (
      select c.chunk_no from ragdb.chunks c
        where c.corpus_id = known_parents.corpus_id and c.chunk_id = g.parent_id
        offset 0) c
    cross join lateral (
      select t.session_id from ragdb.turns t
        where t.corpus_id = known_parents.corpus_id and t.chunk_no = c.chunk_no
        offset 0) t
    where t.session_id = known_parents.session);

-- Says in what a turn that comes again is another than the stored one, of what it may come without;
-- null where in nothing. `said` is the time of turns that come without one.
create or replace function ragdb_internal.other_field(
  stored ragdb.turns, again ragdb_internal.parsed_turn, said timestamptz)
returns text
language sql stable parallel safe
return coalesce(
  (select case when stored.given ? f.name
      then pg_catalog.format('its %s is %s', f.name,
        ragdb_internal.quote(stored.given ->> f.name))
      else 'it came without ' || f.name end
    from pg_catalog.jsonb_each(again.given) f (name, value)
    where stored.given -> f.name is distinct from f.value
    order by f.name limit 1),
  case when again.created_at not in (stored.created_at, other_field.said)
    then 'it was said at ' || (pg_catalog.to_jsonb(stored.created_at) #>> '{}') end);

-- A given turn whose id is there already; differs says in what it is another, or is null.
create type ragdb_internal.stored_turn as (
  place bigint, raw_id text, chunk_id text, differs text);

-- Returns those of some turns whose ids are there already. The edges are joined once for all turns,
-- and each is looked up by its key (offset 0).
create or replace function ragdb_internal.stored_turns(
  corpus_id integer, turns ragdb_internal.parsed_turn[], edges ragdb_internal.parsed_edge[],
  said timestamptz)
returns setof ragdb_internal.stored_turn
language sql stable parallel safe
begin atomic
  with there as materialized (
    select g.place, g.raw_id, g.chunk_id, g as given, c.chunk_no, c.text
      from pg_catalog.unnest(turns) g
      cross join lateral (
        select c.chunk_no, c.text from ragdb.chunks c
          where c.corpus_id = stored_turns.corpus_id and c.chunk_id = g.chunk_id
          offset 0) c
  ), lacking as materialized (
    select r.chunk_id, pg_catalog.min(e.raw_parent) as parent
      from there r join pg_catalog.unnest(edges) e on e.child_id = r.chunk_id
      where not exists (
        select from ragdb.chunks p
          join ragdb.edges h on h.corpus_id = p.corpus_id and h.parent_no = p.chunk_no
        where p.corpus_id = stored_turns.corpus_id and p.chunk_id = e.parent_id
          and h.child_no = r.chunk_no and h.edge_type = e.edge_type
        offset 0)
      group by r.chunk_id
  )
  select r.place, r.raw_id, r.chunk_id, case
      when t.session_id is null then 'another document has a chunk of that id'
      when t.session_id <> (r.given).session_id
        then 'session ' || ragdb_internal.quote(t.session_id) || ' has it'
      when t.role <> (r.given).role then 'its role is ' || t.role
      when ragdb_internal.content_hash(r.text) <> ragdb_internal.content_hash((r.given).text)
        then 'it has another text'
      when l.parent is not null
        then 'it does not have the parent ' || ragdb_internal.quote(l.parent)
      else ragdb_internal.other_field(t, r.given, stored_turns.said) end
    from there r
    left join lateral (
      select t.* from ragdb.turns t
        where t.corpus_id = stored_turns.corpus_id and t.chunk_no = r.chunk_no
        offset 0) t on true
    left join lacking l on l.chunk_id = r.chunk_id;
end;

-- Returns those of some turns that are not stored yet. Who sends a turn again sends what he sent
-- before: it is there, and nothing is written. Anything else under its id is another turn, and what
-- was said stays as it was said. Raises RG409 for one that is stored otherwise.
create or replace function ragdb_internal.new_turns(
  corpus_id integer, turns ragdb_internal.parsed_turn[], edges ragdb_internal.parsed_edge[],
  said timestamptz)
returns ragdb_internal.parsed_turn[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
as $$
#variable_conflict use_variable
declare
  v_there constant ragdb_internal.stored_turn[] := array(
    select s from ragdb_internal.stored_turns(corpus_id, turns, edges, said) s);
  v_bad ragdb_internal.stored_turn;
begin
  select s.* into v_bad from unnest(v_there) s where s.differs is not null order by s.place limit 1;
  if found then
    raise exception 'turn % is there already and is another', ragdb_internal.quote(v_bad.raw_id)
      using errcode = 'RG409', detail = v_bad.differs || '; nothing was written',
        hint = 'give a new turn an id of its own; ragdb.put_conversations() replaces a '
          'conversation, and ragdb.add_edges() joins turns that are there';
  end if;
  return array(
    select g from unnest(turns) g
      where g.chunk_id not in (select s.chunk_id from unnest(v_there) s) order by g.place);
end $$;

create or replace function ragdb.append_turns(
  corpus text, session text, turns jsonb, document jsonb default null)
returns table (
  "position" integer, turn_id text, phase text, salience real, depth integer,
  was_duplicate boolean)
language plpgsql security definer -- turns and edges are granted to nobody
set search_path = pg_catalog, pg_temp
set timezone = 'UTC' -- a time without a zone means the same everywhere
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(append_turns.corpus, 'write');
  v_now constant timestamptz := ragdb_internal.now();
  v_given constant jsonb := ragdb_internal.given_session(session, append_turns.turns, v_now);
  v_turns ragdb_internal.parsed_turn[];
  v_edges ragdb_internal.parsed_edge[];
  v_new ragdb_internal.parsed_turn[];
begin
  perform ragdb_internal.check_appended(v_given, document);
  v_turns := array(select t from ragdb_internal.parsed_turns(v_corpus.name, v_given) t);
  v_edges := array(select e from ragdb_internal.parsed_edges(v_corpus.name, v_given, v_turns) e);
  v_new := ragdb_internal.new_turns(v_corpus.corpus_id, v_turns, v_edges, v_now);
  -- where all are there already, nothing is written: not even the corpus row is locked
  if v_new <> '{}' then
    v_corpus := ragdb_internal.lock_corpus(append_turns.corpus, 'write');
    -- again, because another may have brought them meanwhile
    v_new := ragdb_internal.new_turns(v_corpus.corpus_id, v_turns, v_edges, v_now);
    perform ragdb_internal.check_turns(v_turns, v_edges, ragdb_internal.known_parents(
      v_corpus.corpus_id, session, v_edges));
    perform ragdb_internal.check_replies(v_turns, array(select e from unnest(v_edges) e
      where e.parent_id in (select t.chunk_id from unnest(v_turns) t)));
  end if;
  if v_new <> '{}' then
    perform ragdb_internal.store_appended(v_corpus, session, coalesce(document, '{}'), v_new, array(
      select e from unnest(v_edges) e
      where e.child_id in (select t.chunk_id from unnest(v_new) t)));
  end if;
  return query
    select g.place::integer - 1, g.chunk_id, t.phase, t.salience, t.depth,
        g.chunk_id not in (select n.chunk_id from unnest(v_new) n)
      from unnest(v_turns) g
      cross join lateral (select c.chunk_no from ragdb.chunks c
        where c.corpus_id = v_corpus.corpus_id and c.chunk_id = g.chunk_id offset 0) c
      cross join lateral (select t.phase, t.salience, t.depth from ragdb.turns t
        where t.corpus_id = v_corpus.corpus_id and t.chunk_no = c.chunk_no offset 0) t
      order by g.place;
end $$;
comment on function ragdb.append_turns is
  'Appends 0 to 10000 turns to a session, which begins with its first: an array of messages as '
  'ragdb.put_conversations takes them, each with an id of its own. A parent is a turn of the '
  'session. A turn without created_at is said now. Returns a row for each: its position from 0, '
  'its chunk id, what was derived of it, and whether it was there. A turn that is there is not '
  'written again; where it says anything else than before, it is refused. document is {"title", '
  '"language", "metadata"} of a session that is new. What is read and written does not grow with '
  'the session while its turns come in the order of their times. Raises RG400, RG401, RG404, '
  'RG409, RG412, RG413.';
