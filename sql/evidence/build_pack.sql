-- Evidence packs: chunks as one text for a model, the same bytes for the same chunks, that no
-- document can forge.

-- Returns the line that begins the block of a chunk in a pack, and the blank line before it.
create or replace function ragdb_internal.evidence_head(n integer, item jsonb) returns text
language sql stable parallel safe
return E'\n\n### ' || evidence_head.n
  || ' source_id=' || ragdb_internal.evidence_field(item ->> 'source_id')
  || ' chunk_id=' || ragdb_internal.evidence_field(item ->> 'chunk_id');

-- Returns what a pack says of a chunk that it has no room for.
create or replace function ragdb_internal.omitted_item(item jsonb) returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_build_object('source_id', item -> 'source_id',
  'chunk_id', item -> 'chunk_id', 'reason', 'budget');

-- Returns how many characters of a text fit into so much room with the mark of a cut, and these as
-- evidence; said is null or empty where none fit. Text as evidence may be longer or shorter than
-- the text, so the cut is moved until it fits.
create or replace function ragdb_internal.cut_evidence(text text, room integer,
  out cut integer, out said text)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mark constant text := E'\n\n[truncated]';
begin
  cut := room - length(v_mark);
  while cut > 0 loop
    said := ragdb_internal.evidence_text(left(text, cut));
    exit when said = '' or length(said) + length(v_mark) <= room;
    cut := cut - (length(said) + length(v_mark) - room);
    said := null;
  end loop;
end $$;

-- Returns the text of a pack of chunks, best first, in at most so many characters (null: no limit),
-- the chunks in it, and those left out. Items come best first. The one that no longer fits whole is
-- cut, and nothing after it is taken: a smaller chunk never stands in for a better one.
create or replace function ragdb_internal.pack_items(corpus text, items jsonb,
  max_characters integer, out canonical_text text, out chunks jsonb[], out omitted jsonb[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[] := array['corpus ' || ragdb_internal.evidence_field(corpus)];
  v_length integer := length(v_parts[1]);
  v_is_full boolean := false;
  v_item jsonb;
  v_head text;
  v_text text;
  v_room integer;
  v_beginning record;
begin
  chunks := '{}';
  omitted := '{}';
  for v_item in
    select i.item from jsonb_array_elements(items) with ordinality i (item, n) order by i.n
  loop
    if v_is_full then
      omitted := omitted || ragdb_internal.omitted_item(v_item);
      continue;
    end if;
    v_head := ragdb_internal.evidence_head(cardinality(chunks) + 1, v_item);
    v_text := rtrim(E'\n' || ragdb_internal.evidence_text(v_item ->> 'text'), E'\n');
    v_room := max_characters - v_length - length(v_head);
    v_is_full := coalesce(length(v_text) > v_room, false);
    if v_is_full then
      v_beginning := ragdb_internal.cut_evidence(v_item ->> 'text', v_room);
      if coalesce(v_beginning.said, '') = '' then
        omitted := omitted || ragdb_internal.omitted_item(v_item);
        continue;
      end if;
      v_text := E'\n' || v_beginning.said || E'\n[truncated]';
      v_item := v_item || jsonb_build_object('text', left(v_item ->> 'text', v_beginning.cut));
    end if;
    v_parts := v_parts || (v_head || v_text);
    v_length := v_length + length(v_head) + length(v_text);
    chunks := chunks || (v_item
      || jsonb_build_object('n', cardinality(chunks) + 1, 'is_cut', v_is_full));
  end loop;
  canonical_text := array_to_string(v_parts, '');
end $$;

-- Returns the pack of chunks (source_id, chunk_id, text and more), best first, in at most so many
-- characters; null sets no limit.
create or replace function ragdb_internal.pack_evidence(corpus text, items jsonb,
  max_characters integer) returns jsonb
language sql immutable parallel safe
return (
  select pg_catalog.jsonb_build_object(
    'corpus', pack_evidence.corpus,
    'canonical_text', p.canonical_text,
    'hash', pg_catalog.left(p.sha256, 16),
    'sha256', p.sha256,
    'chunks', pg_catalog.to_jsonb(p.chunks),
    'omitted', pg_catalog.to_jsonb(p.omitted))
  from (
    select i.*, pg_catalog.encode(
      pg_catalog.sha256(pg_catalog.convert_to(i.canonical_text, 'UTF8')), 'hex') as sha256
    from ragdb_internal.pack_items(corpus, items, max_characters) i) p);

-- Refuses a max_context whose characters are too few for the first line of a pack. Raises RG400.
create or replace function ragdb_internal.check_pack_room(
  corpus text, max_characters integer, max_context integer)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if max_characters < length('corpus ' || ragdb_internal.evidence_field(corpus)) then
    raise exception 'max_context is %', max_context
      using errcode = 'RG400',
        detail = 'the first line of a pack, which names its corpus, does not fit',
        hint = 'pass some hundreds at least';
  end if;
end $$;

-- Refuses arguments of ragdb.build_evidence_pack that are out of range or do not go together.
-- Raises RG400.
create or replace function ragdb_internal.check_pack_request(trace_id uuid, chunk_ids text[],
  max_context integer, unit text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if (trace_id is null) = (chunk_ids is null) then
    raise exception '% trace_id % chunk_ids',
      case when trace_id is null then 'neither' else 'both' end,
      case when trace_id is null then 'nor' else 'and' end
      using errcode = 'RG400',
        detail = 'a pack holds the hits of one trace, or chunks by their ids',
        hint = 'pass one of the two; chunk ids need a corpus';
  end if;
  if unit is null or unit not in ('token', 'char') then
    raise exception 'unit is %', ragdb_internal.quote(unit)
      using errcode = 'RG400',
        detail = 'max_context counts tokens, of four characters each, or characters',
        hint = 'pass token or char';
  end if;
  if max_context not between 1 and 10000000 then
    raise exception 'max_context is %', max_context
      using errcode = 'RG400', detail = 'it is the most that the text of a pack may hold',
        hint = 'pass 1 to 10000000, or leave it out for no limit';
  end if;
  if not ragdb_internal.is_list(chunk_ids) then
    perform ragdb_internal.refuse_chunk_ids();
  end if;
end $$;

-- Returns the corpus that a trace searched; corpus is its name or null. Raises RG400.
create or replace function ragdb_internal.corpus_of_trace(trace ragdb.retrieval_traces, corpus text)
  returns ragdb.corpora
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
begin
  if corpus is not null and corpus <> trace.corpus then
    raise exception 'trace % is of another corpus', trace.id
      using errcode = 'RG400', detail = 'it searched ' || ragdb_internal.quote(trace.corpus)
          || ' and not ' || ragdb_internal.quote(corpus),
        hint = 'leave corpus out';
  end if;
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = trace.corpus_id;
  return v_corpus;
end $$;

-- Returns what a pack says beside its text: what it was made of, its limit and size (in the unit,
-- token or char), and what is left out, what was lost since the trace at the end.
create or replace function ragdb_internal.pack_facts(pack jsonb, trace ragdb.retrieval_traces,
  corpus ragdb.corpora, max_context integer, unit text, lost jsonb) returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_build_object(
  'trace_id', (trace).id, 'query', (trace).query_text, 'text_config', (corpus).text_config,
  'max_context', pack_facts.max_context, 'unit', pack_facts.unit,
  'size', case pack_facts.unit when 'char' then pg_catalog.length(pack ->> 'canonical_text')
    else pg_catalog.ceil(pg_catalog.length(pack ->> 'canonical_text') / 4::float8) end,
  'omitted', (pack -> 'omitted') || pack_facts.lost);

-- Definer: the tables of a corpus are granted to nobody; the caller's right is checked here, once.
create or replace function ragdb.build_evidence_pack(
  trace_id uuid default null, chunk_ids text[] default null, corpus text default null,
  max_context integer default null, unit text default 'token')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_trace ragdb.retrieval_traces;
  v_corpus ragdb.corpora;
  v_items jsonb;
  v_lost jsonb;
  v_missing text;
  v_characters integer;
  v_pack jsonb;
begin
  perform ragdb_internal.check_pack_request(trace_id, chunk_ids, max_context, unit);
  if trace_id is not null then
    v_trace := ragdb_internal.open_trace(trace_id);
    v_corpus := ragdb_internal.corpus_of_trace(v_trace, corpus);
    perform ragdb_internal.record_read(v_corpus) where v_corpus.record_reads <> 'off';
  else
    v_corpus := ragdb_internal.open_corpus(corpus, 'read', true);
  end if;
  select coalesce(jsonb_agg(i.item order by i.n) filter (where i.reason is null), '[]'),
      coalesce(jsonb_agg(jsonb_build_object('source_id', i.source_id, 'chunk_id', i.chunk_id,
        'reason', i.reason) order by i.n) filter (where i.reason is not null), '[]'),
      min(i.chunk_id) filter (where i.reason = 'gone')
    into v_items, v_lost, v_missing
    from ragdb_internal.evidence_items(v_corpus.corpus_id, v_trace.id, v_trace.created_at,
      chunk_ids) i;
  if trace_id is null and v_missing is not null then
    perform ragdb_internal.missing_chunk(v_corpus, v_missing);
  end if;
  v_characters := max_context * case unit when 'token' then 4 else 1 end;
  perform ragdb_internal.check_pack_room(v_corpus.name, v_characters, max_context);
  v_pack := ragdb_internal.pack_evidence(v_corpus.name, v_items, v_characters);
  return v_pack || ragdb_internal.pack_facts(v_pack, v_trace, v_corpus, max_context, unit, v_lost);
end $$;
comment on function ragdb.build_evidence_pack is
  'Returns the evidence that the hits of a trace (after its reranking, the ones returned), or '
  'chunks of a corpus by their ids, amount to: canonical_text in at most max_context (1 to '
  '10000000, null: no limit) tokens (four characters each) or characters (unit: token or char), '
  'its hash (16 hex digits) and sha256, chunks, and omitted with the reason (budget, or gone or '
  'changed since the trace). Raises RG400, RG404, RG406, RG407.';
