-- Evidence packs: chunks as one text for a model, the same bytes for the same chunks, that no
-- document can forge.

-- The first lines of a text are ours, and what looks like one of them in a document gets a
-- backslash. White space and line ends are listed: what \s means differs between databases.
-- Normalisation of what Unicode 15.0 does not assign differs too, so it is left alone.
create or replace function ragdb._evidence_text(text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := replace(replace(text, E'\r\n', E'\n'), E'\r', E'\n');
begin
  if octet_length(v_text) <> length(v_text) then
    if v_text ~ ('[' || ragdb._unassigned() || ']') then
      v_text := (
        select string_agg(case when p.part[2] is null then normalize(p.part[1], nfc)
          else p.part[2] end, '' order by p.n)
        from regexp_matches(v_text, '([^' || ragdb._unassigned() || ']+)|([' || ragdb._unassigned()
          || ']+)', 'g')
          with ordinality p (part, n));
    else
      v_text := normalize(v_text, nfc);
    end if;
  end if;
  if v_text ~* '(source|chunk)_id|\[truncated\]' then
    v_text := regexp_replace(v_text,
      '(^|[\n\v\f\u0085\u2028\u2029])([ '
      '\t\u00a0\u00ad\u1680\u180e\u2000-\u200f\u202a-\u202f\u205f-\u2064\u3000\ufeff]*)'
        '(?=[#\uff03]{2}[^\n\v\f\u0085\u2028\u2029]*(source|chunk)_id|\[truncated\])', '\1\2\\',
          'gi');
  end if;
  return regexp_replace(v_text,
    '[ \t\v\f\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+(?=\n|$)|\n+$', '',
    'g');
end $$;
comment on function ragdb._evidence_text(text) is
  'Returns the text of a chunk as evidence: NFC, LF, no white space at the end of a line or blank '
  'line at its own, and a backslash before lines that imitate the marks of a pack.';

create or replace function ragdb._evidence_field(value text) returns text
language sql immutable parallel safe
return case
  when _evidence_field.value !~
    '[\\\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e'
    '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]'
    then _evidence_field.value
  else (
    select pg_catalog.string_agg(case
      when c.letter = '\' then '\\'
      when c.letter ~
        '[\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e'
        '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]'
        then '\u' || pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.ascii(c.letter)), 4, '0')
      else c.letter end, '' order by c.n)
    from pg_catalog.regexp_split_to_table(_evidence_field.value, '') with ordinality c (letter, n))
end;
comment on function ragdb._evidence_field(text) is
  'Returns an id as it stands in the first line of a block: a backslash is doubled, and white '
  'space and what cannot be seen is written \uXXXX.';

-- Items come best first. The one that no longer fits whole is cut, and nothing after it is taken: a
-- smaller chunk never stands in for a better one.
create or replace function ragdb._pack_evidence(corpus text, items jsonb, max_characters integer)
  returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[] := array['corpus ' || ragdb._evidence_field(corpus)];
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
      || ragdb._evidence_field(v_item ->> 'source_id')
      || ' chunk_id=' || ragdb._evidence_field(v_item ->> 'chunk_id');
    v_text := rtrim(E'\n' || ragdb._evidence_text(v_item ->> 'text'), E'\n');
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
        v_marked := ragdb._evidence_text(left(v_item ->> 'text', v_cut));
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
comment on function ragdb._pack_evidence(text, jsonb, integer) is
  'Returns the pack of chunks (source_id, chunk_id, text and more), best first, in at most so many '
  'characters; null is no limit.';

create or replace function ragdb._evidence_items(corpus_id integer, trace_id uuid,
  created_at timestamptz, chunk_ids text[])
returns table (n bigint, source_id text, chunk_id text, reason text, item jsonb)
language sql stable parallel safe
begin atomic
  select w.n, c.source, w.chunk_id,
    case when c.chunk_id is null then 'gone'
      when c.content_hash <> w.content_hash then 'changed' end,
    pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
      'source_id', c.source, 'chunk_id', c.chunk_id, 'text', c.text, 'score', w.score, 'doc_cid',
        d.doc_cid,
      'title', d.title, 'page', c.page, 'start_offset', c.start_offset, 'end_offset', c.end_offset,
      'content_hash', pg_catalog.encode(c.content_hash, 'hex'), 'citation', c.citation))
      || pg_catalog.jsonb_build_object('heading', c.heading)
  from (
    select coalesce(r.rank, h.rank) as n, h.chunk_id, h.content_hash, h.score
    from ragdb.retrieval_hits h
      left join ragdb.retrieval_reranks r on r.corpus_id = h.corpus_id and r.trace_id = h.trace_id
        and r.created_at = h.created_at and r.chunk_id = h.chunk_id
    where h.corpus_id = _evidence_items.corpus_id and h.trace_id = _evidence_items.trace_id
      and h.created_at = _evidence_items.created_at and r.is_returned is not false
    union all
    select min(u.n), u.chunk_id, null, null
    from pg_catalog.unnest(_evidence_items.chunk_ids) with ordinality u (chunk_id, n)
    group by u.chunk_id) w
    left join ragdb.chunks c on c.corpus_id = _evidence_items.corpus_id and c.chunk_id = w.chunk_id
    left join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no;
end;
comment on function ragdb._evidence_items(integer, uuid, timestamptz, text[]) is
  'Returns the chunks of a trace (as its caller was given them, where it was reranked), or those '
  'of a list, in their order with all that a pack says of each; reason is gone or changed where a '
  'chunk is not what the trace saw.';

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
    raise exception 'unit is %', ragdb._quote(unit)
      using errcode = 'RG400',
        detail = 'max_context counts tokens, of four characters each, or characters',
            hint = 'pass token or char';
  end if;
  if max_context not between 1 and 10000000 then
    raise exception 'max_context is %', max_context
      using errcode = 'RG400', detail = 'it is the most that the text of a pack may hold',
            hint = 'pass 1 to 10000000, or leave it out for no limit';
  end if;
  if not ragdb._is_list(chunk_ids) then
    raise exception 'chunk_ids has a null, or more than one dimension'
      using errcode = 'RG400', detail = 'a list of chunks names each of them',
        hint = 'pass a plain list without nulls';
  end if;
  if trace_id is not null then
    v_trace := ragdb._open_trace(trace_id);
    if corpus is not null and corpus <> v_trace.corpus then
      raise exception 'trace % is of another corpus', trace_id
        using errcode = 'RG400', detail = 'it searched ' || ragdb._quote(v_trace.corpus)
          || ' and not ' || ragdb._quote(corpus),
              hint = 'leave corpus out';
    end if;
    select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = v_trace.corpus_id;
  else
    v_corpus := ragdb._open_corpus(corpus, 'read');
  end if;
  select coalesce(jsonb_agg(i.item order by i.n) filter (where i.reason is null), '[]'),
      coalesce(jsonb_agg(jsonb_build_object('source_id', i.source_id, 'chunk_id', i.chunk_id,
        'reason', i.reason)
        order by i.n) filter (where i.reason is not null), '[]'),
      min(i.chunk_id) filter (where i.reason = 'gone')
    into v_items, v_lost, v_missing
    from ragdb._evidence_items(v_corpus.corpus_id, v_trace.id, v_trace.created_at, chunk_ids) i;
  if trace_id is null and v_missing is not null then
    raise exception 'corpus % has no chunk %', ragdb._quote(corpus), ragdb._quote(v_missing)
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
  v_pack := ragdb._pack_evidence(v_corpus.name, v_items, v_characters);
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

create or replace function ragdb._check_evidence(evidence jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if evidence is null or jsonb_typeof(evidence) <> 'object'
    or jsonb_typeof(evidence -> 'chunks') is distinct from 'array'
      or exists (select from jsonb_array_elements(evidence -> 'chunks') c
        where jsonb_typeof(c) <> 'object'
          or jsonb_typeof(c -> 'source_id') is distinct from 'string'
          or jsonb_typeof(c -> 'chunk_id') is distinct from 'string'
            or jsonb_typeof(c -> 'text') is distinct from 'string') then
    raise exception 'evidence is no pack'
      using errcode = 'RG460',
        detail = 'it is an object with chunks, each with source_id, chunk_id and text',
            hint = 'pass what ragdb.build_evidence_pack() or ragdb.evidence_pack_to_input() '
                   'returns';
  end if;
end $$;
comment on function ragdb._check_evidence(jsonb) is
  'Refuses what is not the evidence of a pack. Raises RG460.';

-- Definer: what it calls is private.
create or replace function ragdb.evidence_pack_to_input(pack jsonb) returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb._check_evidence(pack);
  return jsonb_build_object(
    'question', pack -> 'query',
    'evidence', jsonb_build_object(
      'corpus_id', pack -> 'corpus', 'hash', pack -> 'hash',
      'chunks', coalesce((
        select jsonb_agg(jsonb_build_object('source_id', c.chunk -> 'source_id', 'chunk_id',
          c.chunk -> 'chunk_id',
            'text', ragdb._evidence_text(c.chunk ->> 'text')) order by c.n)
        from jsonb_array_elements(pack -> 'chunks') with ordinality c (chunk, n)), '[]'),
      'omitted', jsonb_array_length(case jsonb_typeof(pack -> 'omitted')
        when 'array' then pack -> 'omitted' else '[]' end)));
end $$;
comment on function ragdb.evidence_pack_to_input(jsonb) is
  'Returns a pack as the input of a task that answers from evidence: question, and evidence with '
  'corpus_id, hash, chunks (source_id, chunk_id, text) and the number omitted. Raises RG460.';
