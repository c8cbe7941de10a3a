-- Evidence packs: chunks as one text for a model, the same bytes for the same chunks, that no
-- document can forge.

-- Items come best first. The one that no longer fits whole is cut, and nothing after it is taken: a
-- smaller chunk never stands in for a better one.
create or replace function ragdb_internal.pack_evidence(corpus text, items jsonb, max_characters integer)
  returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[] := array['corpus ' || ragdb_internal.evidence_field(corpus)];
  v_length integer := length(v_parts[1]);
  v_canonical text;
  v_chunks jsonb[] := '{}';
  v_omitted jsonb[] := '{}';
  v_is_full boolean := false;
  v_item jsonb;
  v_head text;
  v_text text;
  v_room integer;
  v_cut integer;
  v_marked text;
begin
  for v_item in select i.item from jsonb_array_elements(items) with ordinality i (item, n)
    order by i.n loop
    if v_is_full then
      v_omitted := v_omitted || jsonb_build_object('source_id', v_item -> 'source_id', 'chunk_id',
        v_item -> 'chunk_id',
        'reason', 'budget');
      continue;
    end if;
    v_head := E'\n\n### ' || cardinality(v_chunks) + 1 || ' source_id='
      || ragdb_internal.evidence_field(v_item ->> 'source_id')
      || ' chunk_id=' || ragdb_internal.evidence_field(v_item ->> 'chunk_id');
    v_text := rtrim(E'\n' || ragdb_internal.evidence_text(v_item ->> 'text'), E'\n');
    v_room := max_characters - v_length - length(v_head);
    if max_characters is null or length(v_text) <= v_room then
      v_parts := v_parts || (v_head || v_text);
      v_length := v_length + length(v_head) + length(v_text);
      v_chunks := v_chunks
        || (jsonb_build_object('n', cardinality(v_chunks) + 1, 'is_cut', false) || v_item);
      continue;
    else
      v_is_full := true;
      v_cut := v_room - length(E'\n\n[truncated]');
      v_marked := null;
      while v_cut > 0 loop
        v_marked := ragdb_internal.evidence_text(left(v_item ->> 'text', v_cut));
        exit when v_marked = '' or length(v_marked) + length(E'\n\n[truncated]') <= v_room;
        v_cut := v_cut - (length(v_marked) + length(E'\n\n[truncated]') - v_room);
        v_marked := null;
      end loop;
      if v_marked <> '' then
        v_parts := v_parts || (v_head || E'\n' || v_marked || E'\n[truncated]');
        v_chunks := v_chunks || (jsonb_build_object('n', cardinality(v_chunks) + 1) || v_item
          || jsonb_build_object('is_cut', true, 'text', left(v_item ->> 'text', v_cut)));
        continue;
      end if;
    end if;
    v_omitted := v_omitted || jsonb_build_object('source_id', v_item -> 'source_id', 'chunk_id',
      v_item -> 'chunk_id',
      'reason', 'budget');
  end loop;
  v_canonical := array_to_string(v_parts, '');
  return jsonb_build_object(
    'corpus', corpus,
    'canonical_text', v_canonical,
    'hash', left(encode(sha256(convert_to(v_canonical, 'UTF8')), 'hex'), 16),
    'sha256', encode(sha256(convert_to(v_canonical, 'UTF8')), 'hex'),
    'chunks', to_jsonb(v_chunks),
    'omitted', to_jsonb(v_omitted));
end $$;
comment on function ragdb_internal.pack_evidence(text, jsonb, integer) is
  'Returns the pack of chunks (source_id, chunk_id, text and more), best first, in at most so many '
  'characters; null is no limit.';

-- Definer: the tables of a corpus are granted to nobody; the caller's right is checked here, once.
create or replace function ragdb.build_evidence_pack(
  trace_id uuid default null, chunk_ids text[] default null, corpus text default null,
  max_context integer default null, unit text default 'token')
returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces;
  v_corpus ragdb.corpora;
  v_items jsonb;
  v_missing text;
  v_lost jsonb;
  v_characters integer;
  v_pack jsonb;
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
    raise exception 'chunk_ids has a null, or more than one dimension'
      using errcode = 'RG400', detail = 'a list of chunks names each of them',
        hint = 'pass a plain list without nulls';
  end if;
  if trace_id is not null then
    v_trace := ragdb_internal.open_trace(trace_id);
    if corpus is not null and corpus <> v_trace.corpus then
      raise exception 'trace % is of another corpus', trace_id
        using errcode = 'RG400', detail = 'it searched ' || ragdb_internal.quote(v_trace.corpus)
          || ' and not ' || ragdb_internal.quote(corpus),
              hint = 'leave corpus out';
    end if;
    select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = v_trace.corpus_id;
  else
    v_corpus := ragdb_internal.open_corpus(corpus, 'read');
  end if;
  select coalesce(jsonb_agg(i.item order by i.n) filter (where i.reason is null), '[]'),
      coalesce(jsonb_agg(jsonb_build_object('source_id', i.source_id, 'chunk_id', i.chunk_id,
        'reason', i.reason)
        order by i.n) filter (where i.reason is not null), '[]'),
      min(i.chunk_id) filter (where i.reason = 'gone')
    into v_items, v_lost, v_missing
    from ragdb_internal.evidence_items(v_corpus.corpus_id, v_trace.id, v_trace.created_at, chunk_ids) i;
  if trace_id is null and v_missing is not null then
    raise exception 'corpus % has no chunk %', ragdb_internal.quote(corpus), ragdb_internal.quote(v_missing)
      using errcode = 'RG406', detail = 'the id of a chunk changes with its text and its source',
            hint = 'ragdb.search() returns chunk ids';
  end if;
  v_characters := max_context * case unit when 'token' then 4 else 1 end;
  if v_characters < length('corpus ' || v_corpus.name) then
    raise exception 'max_context is %', max_context
      using errcode = 'RG400',
        detail = 'the first line of a pack, which names its corpus, does not fit',
            hint = 'pass some hundreds at least';
  end if;
  v_pack := ragdb_internal.pack_evidence(v_corpus.name, v_items, v_characters);
  return v_pack || jsonb_build_object(
    'trace_id', trace_id, 'query', v_trace.query_text, 'text_config', v_corpus.text_config,
    'max_context', max_context, 'unit', unit,
    'size', case unit when 'char' then length(v_pack ->> 'canonical_text')
      else ceil(length(v_pack ->> 'canonical_text') / 4::float8) end,
    'omitted', (v_pack -> 'omitted') || v_lost);
end $$;
comment on function ragdb.build_evidence_pack(uuid, text[], text, integer, text) is
  'Returns the evidence that the hits of a trace (after its reranking, the ones returned), or '
  'chunks of a corpus by their ids, amount to: canonical_text in at most max_context (1 to '
  '10000000, null: no limit) tokens (four characters each) or characters (unit: token or char), '
  'its hash (16 hex digits) and sha256, chunks, and omitted with the reason (budget, or gone or '
  'changed since the trace). Raises RG400, RG404, RG406, RG407.';
