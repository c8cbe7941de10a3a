-- The parts of evidence packs: what a chunk's text and ids look like in one, what a pack says of
-- each chunk, and a pack as the input of a task.

-- Returns the text of a chunk as evidence: NFC, LF, no white space at the end of a line or blank
-- line at its own, and a backslash before lines that imitate the marks of a pack. The first lines
-- of a text are ours, and what looks like one of them in a document gets a backslash. White space
-- and line ends are listed: what \s means differs between databases. Normalisation of what Unicode
-- 15.0 does not assign differs too, so it is left alone.
create or replace function ragdb_internal.evidence_text(text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := replace(replace(text, E'\r\n', E'\n'), E'\r', E'\n');
begin
  if octet_length(v_text) <> length(v_text) then
    if v_text ~ ('[^' || ragdb_internal.surely_assigned() || ']')
        and v_text ~ ('[' || ragdb_internal.unassigned() || ']') then
      v_text := (
        select string_agg(case when p.part[2] is null then normalize(p.part[1], nfc)
          else p.part[2] end, '' order by p.n)
        from regexp_matches(v_text, '([^' || ragdb_internal.unassigned() || ']+)|(['
          || ragdb_internal.unassigned() || ']+)', 'g') with ordinality p (part, n));
    else
      v_text := normalize(v_text, nfc);
    end if;
  end if;
  if v_text collate "C" ~* E'(source|chunk)_id|\\[truncated\\]' then
    v_text := regexp_replace(v_text collate "C",
      E'(^|[\\n\\v\\f\\u0085\\u2028\\u2029])([ '
      '\\t\\u00a0\\u00ad\\u1680\\u180e\\u2000-\\u200f\\u202a-\\u202f\\u205f-\\u2064\\u3000'
      '\\ufeff]*)(?=[#\\uff03]{2}[^\\n\\v\\f\\u0085\\u2028\\u2029]*(source|chunk)_id|'
      '\\[truncated\\])', E'\\1\\2\\\\', 'gi');
  end if;
  return regexp_replace(v_text,
    E'[ \\t\\v\\f\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+'
    '(?=\\n|$)|\\n+$', '', 'g');
end $$;

-- Returns white space and characters that cannot be seen, as a class of a pattern.
create or replace function ragdb_internal.unseen() returns text
language sql immutable parallel safe
return '\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e'
  '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff';

-- Returns an id as it stands in the first line of a block: a backslash is doubled, and white space
-- and what cannot be seen is written \uXXXX.
create or replace function ragdb_internal.evidence_field(value text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if value !~ (E'[\\\\' || ragdb_internal.unseen() || ']') then
    return value;
  end if;
  return (
    select string_agg(case
      when c.letter = E'\\' then E'\\\\'
      when c.letter ~ ('[' || ragdb_internal.unseen() || ']')
        then E'\\u' || lpad(to_hex(ascii(c.letter)), 4, '0')
      else c.letter end, '' order by c.n)
    from regexp_split_to_table(value, '') with ordinality c (letter, n));
end $$;

-- Returns the chunks of a trace (as its caller was given them, where it was reranked), or those of
-- a list, in their order with all that a pack says of each; reason is gone or changed where a chunk
-- is not what the trace saw. Who reads them asks for the reason several times: all is made once
-- (offset 0).
create or replace function ragdb_internal.evidence_items(corpus_id integer, trace_id uuid,
  created_at timestamptz, chunk_ids text[])
returns table (n bigint, source_id text, chunk_id text, reason text, item jsonb)
language sql stable parallel safe
begin atomic
  select w.n, c.source, w.chunk_id,
    case when c.chunk_id is null then 'gone'
      when t.content_hash <> w.content_hash then 'changed' end,
    pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
      'source_id', c.source, 'chunk_id', c.chunk_id, 'text', c.text, 'score', w.score,
      'doc_cid', d.doc_cid, 'title', d.title, 'page', c.page,
      'start_offset', c.start_offset, 'end_offset', c.end_offset,
      'content_hash', pg_catalog.encode(t.content_hash, 'hex'),
      'citation', c.citation))
      || pg_catalog.jsonb_build_object('heading', c.heading)
  from (
    select coalesce(r.rank, h.rank) as n, h.chunk_id, h.content_hash, h.score
    from ragdb.retrieval_hits h
      left join ragdb.retrieval_reranks r on r.corpus_id = h.corpus_id and r.trace_id = h.trace_id
        and r.created_at = h.created_at and r.chunk_id = h.chunk_id
    where h.corpus_id = evidence_items.corpus_id and h.trace_id = evidence_items.trace_id
      and h.created_at = evidence_items.created_at and r.is_returned is not false
    union all
    select min(u.n), u.chunk_id, null, null
    from pg_catalog.unnest(evidence_items.chunk_ids) with ordinality u (chunk_id, n)
    group by u.chunk_id) w
    left join lateral ragdb_internal.chunk_of(evidence_items.corpus_id, w.chunk_id) c on true
    cross join lateral (
      select ragdb_internal.content_hash(c.text) as content_hash offset 0) t
    left join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no
  offset 0;
end;

-- Returns what stands over a chunk of evidence and need not be in its text: the title of its
-- document, the headings before it, and who speaks.
create or replace function ragdb_internal.over_chunk(chunk jsonb) returns text
language sql immutable parallel safe
return pg_catalog.concat_ws(E'\n', over_chunk.chunk ->> 'title', (
  select pg_catalog.string_agg(h.heading, E'\n' order by h.n)
  from pg_catalog.jsonb_array_elements_text(
    case pg_catalog.jsonb_typeof(over_chunk.chunk -> 'heading') when 'array'
      then over_chunk.chunk -> 'heading' else '[]' end) with ordinality h (heading, n)));

-- Returns what a chunk of evidence says: with what stands over it and the question that it answers.
create or replace function ragdb_internal.said_in_chunk(chunk jsonb) returns text
language sql immutable parallel safe
return pg_catalog.concat_ws(E'\n', ragdb_internal.over_chunk(said_in_chunk.chunk),
  said_in_chunk.chunk #>> '{answers,text}', said_in_chunk.chunk ->> 'text');

-- Refuses what is not the evidence of a pack. Raises RG460.
create or replace function ragdb_internal.check_evidence(evidence jsonb) returns void
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
    raise exception 'evidence is not a pack'
      using errcode = 'RG460',
        detail = 'it is an object with chunks, each with source_id, chunk_id and text',
        hint = 'pass what ragdb.build_evidence_pack() or ragdb.evidence_pack_to_input() returns';
  end if;
end $$;

-- Definer: what it calls is private.
create or replace function ragdb.evidence_pack_to_input(pack jsonb) returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
begin
  perform ragdb_internal.check_evidence(pack);
  return jsonb_build_object(
    'question', pack -> 'query',
    'evidence', jsonb_build_object(
      'corpus_id', pack -> 'corpus', 'hash', pack -> 'hash',
      'chunks', coalesce((
        select jsonb_agg(jsonb_build_object('source_id', c.chunk -> 'source_id',
          'chunk_id', c.chunk -> 'chunk_id',
          'text', ragdb_internal.evidence_text(c.chunk ->> 'text')) order by c.n)
        from jsonb_array_elements(pack -> 'chunks') with ordinality c (chunk, n)), '[]'),
      'omitted', jsonb_array_length(case jsonb_typeof(pack -> 'omitted')
        when 'array' then pack -> 'omitted' else '[]' end)));
end $$;
comment on function ragdb.evidence_pack_to_input is
  'Returns a pack as the input of a task that answers from evidence: question, and evidence with '
  'corpus_id, hash, chunks (source_id, chunk_id, text) and the number omitted. Raises RG460.';
