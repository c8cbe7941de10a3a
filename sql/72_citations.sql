-- Citations: whether they name evidence, whether a quote stands where it is said to, whether its
-- numbers do. All of it proves reference, place and the words; none of it proves that an answer
-- follows from them.

-- Letters as a reader compares them, each with the place it came from: decomposed, without case,
-- white space as one space, quotation marks and dashes as ASCII, soft hyphens and what cannot be
-- seen gone.
create or replace function ragdb._quotable(text text, out letters text, out places integer[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  with letter as materialized (
    select c.letter, c.n from regexp_split_to_table(text, '') with ordinality c (letter, n)
  ), form as materialized (
    select d.letter, case
      when d.letter ~ '[\u0001-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'
        then ' '
      when d.letter ~
        '[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]' then ''
      when d.letter ~ '[\u2018-\u201b\u2032\u02bc\u0060\u00b4\u2039\u203a]' then ''''
      when d.letter ~ '[\u201c-\u201f\u2033\u00ab\u00bb]' then '"'
      when d.letter ~ '[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]' then '-'
      when octet_length(d.letter) = 1 then lower(d.letter collate "C")
      when d.letter ~ ('[' || ragdb._unassigned() || ']') then d.letter
      -- a letter such as ´ is a space and a mark when decomposed
      else normalize(ragdb._fold(normalize(d.letter, nfkc)), nfkd) end as form
    from (select distinct l.letter from letter l) d
  ), spread as (
    select l.n, f.form, lag(f.form) over (order by l.n) as before
    from letter l join form f using (letter) where f.form <> ''
  ), kept as (
    select s.n, s.form from spread s where not (s.form = ' ' and coalesce(s.before, ' ') = ' ')
  )
  select coalesce(string_agg(k.form, '' order by k.n), ''),
    coalesce(array_agg(k.n::integer order by k.n) , '{}')
  into letters, places
  from (select k.n, u.form from kept k, regexp_split_to_table(k.form, '')
    with ordinality u (form, m)) k;
end $$;
comment on function ragdb._quotable(text) is
  'Returns the letters of a text as quotes are compared, and for each its place in the text, from '
  '1.';

-- What scanners take for each other is made the same; white space and punctuation go. Not for
-- digits: they must be read right, so they are compared apart.
create or replace function ragdb._skeleton(letters text) returns text
language sql immutable parallel safe
return pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.translate(
  pg_catalog.regexp_replace(_skeleton.letters,
    '[\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]+', '', 'g'),
  '01|i', 'olll'), 'rn', 'm'), 'vv', 'w'), 'cl', 'd');
comment on function ragdb._skeleton(text) is
  'Returns letters without white space and ASCII punctuation, those that scanners confuse (0 o, 1 '
  'i l |, rn m, vv w, cl d) made one.';

create or replace function ragdb._numerals(letters text) returns text[]
language sql immutable parallel safe
return array(
  select pg_catalog.regexp_replace(m.numeral[1], '([0-9]),(?=[0-9]{3}(?![0-9]))', '\1', 'g')
  from pg_catalog.regexp_matches(_numerals.letters,
    '(?<![[:alpha:]])((?:(?<![0-9[:alpha:]])-)?[0-9]+(?:[.,:][0-9]+)*)(?![[:alpha:]])', 'g')
    with ordinality m (numeral, n) order by m.n);
comment on function ragdb._numerals(text) is
  'Returns the numbers of a text in their order, thousands without commas; digits inside a word '
  'are none.';

-- Words may differ as scanners differ: the first letter right, one letter in five wrong, and no
-- digit.
create or replace function ragdb._is_misread(a text, b text) returns boolean
language sql immutable parallel safe
return a = b or ragdb._skeleton(a) = ragdb._skeleton(b)
  or (a !~ '[0-9]' and b !~ '[0-9]' and pg_catalog.left(a, 1) = pg_catalog.left(b, 1)
    and pg_catalog.length(a) between 5 and 100 and pg_catalog.length(b) between 5 and 100
    and pg_catalog.abs(pg_catalog.length(a) - pg_catalog.length(b)) <= 1
    and ragdb._edit_distance(a, b) <= 1);
comment on function ragdb._is_misread(text, text) is
  'Whether one word may be a scanner''s reading of another: alike after _skeleton, or of 5 letters '
  'or more, the first the same, with one edit.';

-- Exact, then as a reader compares, then as scanners misread. Places count characters from 0; end
-- is behind the last.
create or replace function ragdb._find_quote(
  text text, quote text, out method text, out start_offset integer, out end_offset integer,
    out similarity float8)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_at integer := strpos(text, quote);
  v_quote text;
  v_letters text;
  v_places integer[];
  v_bones text;
  v_bone_places integer[];
  v_words text[];
  v_from integer;
  v_to integer;
begin
  if quote = '' then
    return;
  elsif v_at > 0 then
    method := 'exact';
    similarity := 1;
    start_offset := v_at - 1;
    end_offset := v_at - 1 + length(quote);
    return;
  end if;
  v_quote := rtrim((ragdb._quotable(quote)).letters);
  select q.letters, q.places into v_letters, v_places from ragdb._quotable(text) q;
  if v_quote = '' then
    return;
  end if;
  v_at := strpos(v_letters, v_quote);
  if v_at > 0 then
    method := 'normalised';
    similarity := 1;
    v_from := v_at;
    v_to := v_at + length(v_quote) - 1;
  else
    -- words of the text with their places among the letters
    v_words := array(select m.word[1]
      from regexp_matches(v_quote, '[^\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]+',
        'g')
      with ordinality m (word, n) order by m.n);
    if cardinality(v_words) = 0 then
      return;
    end if;
    -- the same letters, however they are spaced and hyphenated
    select string_agg(b.bone, '' order by b.n), array_agg(b.n::integer order by b.n) into v_bones,
      v_bone_places
      from regexp_split_to_table(v_letters, '') with ordinality b (bone, n)
      where b.bone !~ '[\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]';
    v_bones := coalesce(v_bones, '');
    v_at := strpos(v_bones, array_to_string(v_words, ''));
    if v_at > 0 then
      v_from := v_bone_places[v_at];
      v_to := v_bone_places[v_at + length(array_to_string(v_words, '')) - 1];
      similarity := 1;
    else
      with said as materialized (
        select w.word, w.n::integer from unnest(v_words) with ordinality w (word, n)
      ), word as materialized (
        select r.part[2] as word, r.n::integer as n,
          (sum(length(r.part[1] || r.part[2])) over (order by r.n))::integer as stop
        from regexp_matches(v_letters,
          '([\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]*)'
          '([^\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]+)', 'g')
          with ordinality r (part, n)
      ), start as (
        -- where enough of the words already agree
        select t.n - s.n + 1 as n
        from said s join word t using (word)
        group by 1
        having sum(length(s.word)) >= 0.4 * (select sum(length(a.word)) from said a)
          and t.n - s.n + 1 >= 1
        order by sum(length(s.word)) desc, 1 limit 20
      ), trial as (
        select b.n, min(t.stop - length(t.word) + 1) as first, max(t.stop) as last,
          count(*) as words,
          bool_and(ragdb._is_misread(s.word, t.word)) as is_alike,
          1 - sum(case when s.word = t.word then 0 when ragdb._is_misread(s.word, t.word)
            then ragdb._edit_distance(s.word, t.word) else length(s.word) end)::float8
              / sum(length(s.word)) as similarity
        from start b join said s on true join word t on t.n = b.n + s.n - 1
        group by b.n
      )
      select t.first, t.last, t.similarity into v_from, v_to, similarity
      from trial t
      where t.words = cardinality(v_words) and t.is_alike and t.similarity >= 0.85
      order by t.similarity desc, t.n limit 1;
      if not found then
        -- letters that scanners confuse, across the spaces too
        v_at := strpos(ragdb._skeleton(v_bones), ragdb._skeleton(v_quote));
        if v_at = 0 then
          similarity := null;
          return;
        end if;
        select min(k.n), max(k.n) into v_from, v_to
          from (select p.n, length(ragdb._skeleton(left(v_bones, p.n::integer))) as done
            from generate_series(1, length(v_bones)) p (n)) k
          where k.done between v_at and v_at + length(ragdb._skeleton(v_quote)) - 1;
        similarity := greatest(0.85,
          1 - abs(v_to - v_from + 1 - length(array_to_string(v_words, '')))::float8
          / (v_to - v_from + 1));
        v_from := v_bone_places[v_from];
        v_to := v_bone_places[v_to];
      end if;
    end if;
    if ragdb._numerals(substr(v_letters, v_from, v_to - v_from + 1))
      is distinct from ragdb._numerals(v_quote) then
      similarity := null;
      return;
    end if;
    method := 'approximate';
    -- the punctuation around it, which was left aside
    v_words := regexp_match(v_quote,
      '^([\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]*)'
      '.*?([\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]*)$');
    if v_words[1] <> ''
      and substr(v_letters, greatest(v_from - length(v_words[1]), 1),
        length(v_words[1])) = v_words[1] then
      v_from := v_from - length(v_words[1]);
    end if;
    if v_words[2] <> '' and substr(v_letters, v_to + 1, length(v_words[2])) = v_words[2] then
      v_to := v_to + length(v_words[2]);
    end if;
  end if;
  start_offset := v_places[v_from] - 1;
  -- marks and invisible characters behind the last letter belong to it
  end_offset := v_places[v_to];
  while end_offset < length(text) and (substr(text, end_offset + 1, 1) ~ '[\u0300-\u036f]' ) loop
    end_offset := end_offset + 1;
  end loop;
end $$;
comment on function ragdb._find_quote(text, text) is
  'Finds a quote in a text: exact, normalised (case, white space, quotation marks, dashes and '
  'ligatures aside) or approximate (as a scanner misreads; at least 0.85 of its letters in one run '
  'of words, every number right); all null where it is not.';

-- ── offsets ────────────────────────────────────────────────────────────────

create or replace function ragdb._code_points(text text, place integer, unit text) returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bytes bytea;
begin
  if place < 0 then
    return null;
  elsif unit = 'byte' then
    v_bytes := convert_to(text, 'UTF8');
    if place > length(v_bytes) or place < length(v_bytes) and get_byte(v_bytes, place) & 192 = 128
      then
      return null;
    end if;
    return length(convert_from(substring(v_bytes from 1 for place), 'UTF8'));
  elsif unit = 'utf16' and text ~ '[\U00010000-\U0010ffff]' and place > 0 then
    return (
      select w.n from (
        select c.n, sum(case when ascii(c.letter) > 65535 then 2 else 1 end) over (order by c.n)
          as units
        from regexp_split_to_table(text, '') with ordinality c (letter, n)) w
      where w.units = place);
  end if;
  return case when place <= length(text) then place end;
end $$;
comment on function ragdb._code_points(text, integer, text) is
  'Returns a place in a text, counted in codepoint, utf16 or byte, in code points; null when it is '
  'outside or inside a character.';

create or replace function ragdb._units(text text, place integer, unit text) returns integer
language sql immutable parallel safe
return case unit
  when 'byte' then pg_catalog.octet_length(pg_catalog.left(text, place))
  when 'utf16' then place + pg_catalog.length(
    pg_catalog.regexp_replace(pg_catalog.left(text, place), '[^\U00010000-\U0010ffff]+', '', 'g'))
  else place end;
comment on function ragdb._units(text, integer, text) is
  'Returns a place in a text, counted in code points, in codepoint, utf16 or byte.';

-- ── what an output cites ───────────────────────────────────────────────────

create or replace function ragdb._answer_text(output jsonb) returns text
language sql immutable parallel safe
return coalesce(
  output ->> 'answer',
  case pg_catalog.jsonb_typeof(coalesce(output -> 'content', output #> '{message,content}'))
    when 'array' then (
      select pg_catalog.string_agg(b.block ->> 'text', '' order by b.n)
      from pg_catalog.jsonb_array_elements(coalesce(output -> 'content',
        output #> '{message,content}'))
        with ordinality b (block, n))
    when 'string' then coalesce(output ->> 'content', output #>> '{message,content}') end,
  output ->> 'text');
comment on function ragdb._answer_text(jsonb) is
  'Returns the text of an answer: answer, or the text blocks of Anthropic''s or Cohere''s content.';

create or replace function ragdb._integer(value jsonb) returns integer
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(_integer.value) = 'number'
  then case when (_integer.value #>> '{}')::numeric % 1 = 0
    and pg_catalog.abs((_integer.value #>> '{}')::numeric) < 2147483648
    then (_integer.value #>> '{}')::numeric::integer end end;
comment on function ragdb._integer(jsonb) is
  'Returns a whole number of JSON; null for anything else.';

-- One row for each chunk that something cites. Anthropic and Cohere name documents by their place
-- among those sent, which are the chunks of the pack in its order.
create or replace function ragdb._cited(output jsonb, evidence jsonb)
returns table (n integer, is_marker boolean, source_id text, chunk_id text, quote text,
  start_claim jsonb, end_claim jsonb,
  answer_start jsonb, answer_end jsonb)
language sql immutable parallel safe
begin atomic
  with chunk as materialized (
    select c.n::integer as n, c.chunk ->> 'chunk_id' as chunk_id, 'doc:' || c.n - 1 as place
    from pg_catalog.jsonb_array_elements(_cited.evidence -> 'chunks') with ordinality c (chunk, n)
  ), listed as (
    select c.n - 1 as n, c.citation
    from pg_catalog.jsonb_array_elements(case when pg_catalog.jsonb_typeof(
        coalesce(_cited.output -> 'citations', _cited.output #> '{message,citations}')) = 'array'
      then coalesce(_cited.output -> 'citations', _cited.output #> '{message,citations}')
        else '[]' end)
      with ordinality c (citation, n)
  ), block as (
    select b.n, b.block, pg_catalog.length(b.block ->> 'text') as length,
      coalesce(pg_catalog.sum(pg_catalog.length(b.block ->> 'text')) over (
        order by b.n rows between unbounded preceding and 1 preceding), 0) as start
    from pg_catalog.jsonb_array_elements(
      case when pg_catalog.jsonb_typeof(_cited.output -> 'content') = 'array'
      then _cited.output -> 'content' else '[]' end) with ordinality b (block, n)
  ), reference as (
    select l.n::integer as n, l.citation ->> 'source_id' as source_id,
      l.citation ->> 'chunk_id' as id,
      l.citation ->> 'quote' as quote, l.citation -> 'start' as start_claim,
        l.citation -> 'end' as end_claim,
      l.citation -> 'answer_start' as answer_start, l.citation -> 'answer_end' as answer_end
    from listed l
    where not (pg_catalog.jsonb_exists(l.citation, 'sources')
      or pg_catalog.jsonb_exists(l.citation, 'document_ids'))
    union all
    -- Cohere: text, start and end are the answer's
    select l.n::integer, null, d.id, null, null, null, l.citation -> 'start', l.citation -> 'end'
    from listed l
      cross join lateral (
        select coalesce(s.source #>> '{document,id}', s.source ->> 'id') as id
        from pg_catalog.jsonb_array_elements(
          case when pg_catalog.jsonb_typeof(l.citation -> 'sources') = 'array'
          then l.citation -> 'sources' else '[]' end) s (source)
        union all
        select i.id
        from pg_catalog.jsonb_array_elements_text(
          case when pg_catalog.jsonb_typeof(l.citation -> 'document_ids') = 'array'
          then l.citation -> 'document_ids' else '[]' end) i (id)) d
    union all
    -- Anthropic
    select ((select pg_catalog.count(*) from listed) + pg_catalog.row_number() over (order by b.n,
      c.n))::integer - 1,
      c.citation ->> 'source',
      'doc:' || coalesce(c.citation ->> 'document_index', c.citation ->> 'search_result_index'),
      c.citation ->> 'cited_text', c.citation -> 'start_char_index', c.citation -> 'end_char_index',
      pg_catalog.to_jsonb(b.start), pg_catalog.to_jsonb(b.start + b.length)
    from block b
      cross join lateral pg_catalog.jsonb_array_elements(
        case when pg_catalog.jsonb_typeof(b.block -> 'citations') = 'array'
        then b.block -> 'citations' else '[]' end) with ordinality c (citation, n)
  ), resolved as materialized (
    select r.n, r.source_id,
      case when k.chunk_id is null then coalesce(p.chunk_id, r.id) else r.id end as chunk_id,
      r.quote, r.start_claim, r.end_claim, r.answer_start, r.answer_end
    from reference r
      left join (select distinct c.chunk_id from chunk c) k on k.chunk_id = r.id
      left join chunk p on p.place = pg_catalog.replace(r.id, 'doc_', 'doc:')
  ), quoted as materialized (
    select pg_catalog.range_agg(pg_catalog.int4range(ragdb._integer(r.answer_start),
      ragdb._integer(r.answer_end))) as spans
    from resolved r where r.quote is not null
      and ragdb._integer(r.answer_start) < ragdb._integer(r.answer_end)
  )
  select r.n, false, r.source_id, r.chunk_id, r.quote, r.start_claim, r.end_claim, r.answer_start,
    r.answer_end
  from resolved r
  union all
  select ((select coalesce(pg_catalog.max(r.n) + 1, 0) from resolved r)
      + pg_catalog.row_number() over (order by m.marker_offset, m.n))::integer - 1,
    true, null, coalesce(c.chunk_id, '[' || m.n || ']'), null, null, null,
    pg_catalog.to_jsonb(m.start_offset), pg_catalog.to_jsonb(m.end_offset)
  from ragdb._markers(ragdb._answer_text(_cited.output)) m left join chunk c on c.n = m.n
  -- what looks like a marker inside a sentence that is quoted is the source's
  where not coalesce(m.marker_offset <@ (select q.spans from quoted q), false);
end;
comment on function ragdb._cited(jsonb, jsonb) is
  'Returns what an output cites, numbered from 0: its citations as ours, Cohere''s or '
  'Anthropic''s, then the [n] markers of its answer.';

create or replace function ragdb._check_output(output jsonb, evidence jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if output is null or jsonb_typeof(output) <> 'object' then
    raise exception 'output is %',
      coalesce('of type ' || jsonb_typeof(output) || ' and no object', 'null')
      using errcode = 'RG460',
        detail = 'it is an object with answer and citations, or insufficient_evidence',
            hint = 'parse what the model returned as JSON first';
  end if;
  perform ragdb._check_evidence(evidence);
end $$;
comment on function ragdb._check_output(jsonb, jsonb) is
  'Refuses what is not an output, or not the evidence of a pack. Raises RG460.';

create or replace function ragdb._evidence_of(input jsonb) returns jsonb
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(_evidence_of.input -> 'evidence') = 'object'
  then _evidence_of.input -> 'evidence'
  else _evidence_of.input end;
comment on function ragdb._evidence_of(jsonb) is
  'Returns the evidence in the input of a task, or what it is given.';

-- Definer: what it calls is private.
create or replace function ragdb.validate_citations(output jsonb, evidence jsonb,
  require_citations boolean default false)
returns text[]
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence jsonb := ragdb._evidence_of(evidence);
  v_list jsonb;
begin
  perform ragdb._check_output(output, v_evidence);
  if require_citations is null then
    raise exception 'require_citations is null'
      using errcode = 'RG400', detail = 'an answer without citations is valid or not',
        hint = 'pass true or false';
  end if;
  if output -> 'insufficient_evidence' = 'true' then
    return '{}';
  end if;
  v_list := coalesce(nullif(output -> 'citations', 'null'),
    nullif(output #> '{message,citations}', 'null'), '[]');
  if jsonb_typeof(v_list) <> 'array' then
    return array['citations: no array'];
  end if;
  if require_citations and v_list = '[]'
    and not exists (select from ragdb._cited(output, v_evidence)) then
    return array['missing citations'];
  end if;
  return array(
    select e.error from (
      select l.n - 1 as n, 0 as step, 'citation[' || l.n - 1 || ']: no object' as error
      from jsonb_array_elements(v_list) with ordinality l (citation, n)
      where jsonb_typeof(l.citation) <> 'object'
      union all
      select c.n, p.step, 'citation[' || c.n || ']: ' || p.problem
      from ragdb._cited(output, v_evidence) c
        left join lateral (
          select k.chunk ->> 'source_id' as source_id
            from jsonb_array_elements(v_evidence -> 'chunks') k (chunk)
          where k.chunk ->> 'chunk_id' = c.chunk_id limit 1) k on true
        cross join lateral (
          select c.source_id is null or exists (
            select from jsonb_array_elements(v_evidence -> 'chunks') o (chunk)
            where o.chunk ->> 'source_id' = c.source_id) as is_known) s
        cross join lateral (values
          (1, case when not s.is_known then 'unknown source_id ''' || c.source_id || '''' end),
          (2, case when c.chunk_id is null then 'no chunk_id'
            when k.source_id is null then 'unknown chunk_id ''' || c.chunk_id || ''''
            when s.is_known and c.source_id <> k.source_id
              then 'chunk_id ''' || c.chunk_id || ''' is not of source_id ''' || c.source_id
                || '''' end)) p (step, problem)
      where not c.is_marker and p.problem is not null
        and coalesce(jsonb_typeof(v_list -> c.n), 'object') = 'object') e
    order by e.n, e.step);
end $$;
comment on function ragdb.validate_citations(jsonb, jsonb, boolean) is
  'Returns what is wrong with the citations of an output, of our form (source_id, chunk_id), '
  'Anthropic''s or Cohere''s: unknown ids, a chunk under another source, and missing citations '
  'where they are required; nothing for insufficient_evidence: true. Raises RG400, RG460.';

-- A pack of several retrievals has the trace at each chunk.
create or replace function ragdb._trace_of(named jsonb) returns uuid
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if named ->> 'trace_id' !~* '^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$' then
    raise exception 'trace_id is %', ragdb._quote(named ->> 'trace_id')
      using errcode = 'RG460', detail = 'the trace of evidence is named by its UUID',
            hint = 'pass what ragdb.build_evidence_pack() returns';
  end if;
  return (named ->> 'trace_id')::uuid;
end $$;
comment on function ragdb._trace_of(jsonb) is
  'Returns the trace that a pack or a chunk of one names; null for none. Raises RG460.';

-- ── what can be checked without a model ────────────────────────────────────

create or replace function ragdb._terms_of(letters text) returns text[]
language sql immutable parallel safe
return array(
  select distinct m.term[1]
  from pg_catalog.regexp_matches(_terms_of.letters, '[[:alnum:]]+(?:[_./:-][[:alnum:]]+)*',
    'g') m (term)
  where m.term[1] ~ '[0-9]' and m.term[1] ~ '[[:alpha:]]' or m.term[1] ~ '_'
  order by 1);
comment on function ragdb._terms_of(text) is
  'Returns the identifiers of a text: words of letters with digits or underscores.';

-- A pack has the text of a chunk as it is or as evidence, whole or its beginning; decomposed, what
-- was cut is a beginning also where a mark was cut off. The backslash before what imitates a pack
-- depends on where the line was cut.
create or replace function ragdb._begins(said text, text text) returns boolean
language sql immutable parallel safe
return pg_catalog.starts_with(text, said) or pg_catalog.starts_with(
  normalize(pg_catalog.replace(ragdb._evidence_text(text), '\', ''), nfd),
  normalize(pg_catalog.replace(ragdb._evidence_text(said), '\', ''), nfd));
comment on function ragdb._begins(text, text) is
  'Whether what evidence says of a chunk is the text of the chunk, or its beginning.';

-- What a trace saw of a chunk that is cited, and what it is now. Whoever may change a trace has not
-- the key to sign it.
create or replace function ragdb._cited_hit(
  trace ragdb.retrieval_traces, chunk_id text, said text,
  out is_retrieved boolean, out is_changed boolean, out is_said boolean, out is_admissible boolean)
language sql stable parallel safe
begin atomic
  select h.chunk_id is not null, h.content_hash is distinct from c.content_hash,
    coalesce(ragdb._begins(_cited_hit.said, c.text), false),
    (_cited_hit.trace).is_admissible and exists (select from ragdb.slices s
      where s.corpus_id = (_cited_hit.trace).corpus_id and s.slice_id = (_cited_hit.trace).slice_id
        and _cited_hit.chunk_id = any (s.chunk_ids))
  from (select) u
    left join ragdb.retrieval_hits h on h.corpus_id = (_cited_hit.trace).corpus_id
      and h.trace_id = (_cited_hit.trace).id and h.created_at = (_cited_hit.trace).created_at
        and h.chunk_id = _cited_hit.chunk_id
    left join ragdb.chunks c on c.corpus_id = (_cited_hit.trace).corpus_id
      and c.chunk_id = _cited_hit.chunk_id;
end;
comment on function ragdb._cited_hit(ragdb.retrieval_traces, text, text) is
  'Returns for a cited chunk whether a trace retrieved it, whether it has changed or gone since, '
  'whether it says what the evidence has it say, and whether the slice of the trace admits it.';

-- A quote that begins in one chunk and ends in another is in neither.
create or replace function ragdb._crosses(quote text, chunk_id text, evidence jsonb) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words text[] := string_to_array(btrim((ragdb._quotable(quote)).letters), ' ');
  v_own text;
  v_other record;
  v_head text;
  v_tail text;
begin
  select (ragdb._quotable(c.chunk ->> 'text')).letters into v_own
    from jsonb_array_elements(evidence -> 'chunks') c (chunk)
      where c.chunk ->> 'chunk_id' = _crosses.chunk_id;
  for v_other in
    select c.chunk ->> 'chunk_id' as chunk_id,
      (ragdb._quotable(c.chunk ->> 'text')).letters as letters
    from jsonb_array_elements(evidence -> 'chunks') c (chunk)
      where c.chunk ->> 'chunk_id' <> _crosses.chunk_id
  loop
    for v_cut in 2 .. cardinality(v_words) - 2 loop
      v_head := array_to_string(v_words[:v_cut], ' ');
      v_tail := array_to_string(v_words[v_cut + 1 :], ' ');
      exit when strpos(v_own, v_head) = 0 and strpos(v_other.letters, v_head) = 0;
      if strpos(v_own, v_head) > 0 and strpos(v_other.letters, v_tail) > 0
          or strpos(v_other.letters, v_head) > 0 and strpos(v_own, v_tail) > 0 then
        return v_other.chunk_id;
      end if;
    end loop;
  end loop;
  return null;
end $$;
comment on function ragdb._crosses(text, text, jsonb) is
  'Returns the chunk that a quote, two words of it or more in each, goes over into from or to the '
  'cited one; null for none.';

-- Definer: what a trace saw is granted to nobody; the caller's right to the trace is checked here.
create or replace function ragdb.check_citations(
  output jsonb, evidence jsonb, trace_id uuid default null, require_citations boolean default false,
  require_admissible boolean default false, min_coverage float8 default 0,
    min_quote integer default 8,
  offsets text default 'codepoint')
returns table (citation integer, code text, is_advisory boolean, message text, source_id text,
  chunk_id text,
  method text, start_offset integer, end_offset integer, similarity float8)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_evidence jsonb := ragdb._evidence_of(evidence);
  v_answer text := ragdb._answer_text(output);
  v_trace ragdb.retrieval_traces;
  v_trace_id uuid;
  v_cited record;
  v_hit record;
  v_is_admissible boolean := false;
  v_is_verified boolean;
  v_found record;
  v_text text;
  v_at_start integer;
  v_at_end integer;
  v_letters text;
  v_missing text;
  v_said int4multirange := '{}';
  v_covered integer;
  v_all integer;
  v_problems integer;
begin
  perform ragdb._check_output(output, v_evidence);
  if offsets is null or offsets not in ('codepoint', 'utf16', 'byte') then
    raise exception 'offsets is %', ragdb._quote(offsets)
      using errcode = 'RG400', detail = 'it is what places in a text are counted in',
        hint = 'pass codepoint, utf16 or byte';
  end if;
  if require_citations is null or require_admissible is null or min_coverage is null
    or not min_coverage between 0 and 1
      or min_quote is null or min_quote not between 1 and 1000 then
    raise exception 'an argument of check_citations is null or out of range'
      using errcode = 'RG400',
        detail = 'min_coverage is 0 to 1, min_quote 1 to 1000 letters, the others true or false',
            hint = 'leave an argument out for its default';
  end if;
  v_trace_id := coalesce(trace_id, ragdb._trace_of(v_evidence));
  if v_trace_id is not null then
    v_trace := ragdb._open_trace(v_trace_id);
  end if;
  if output -> 'insufficient_evidence' = 'true' then
    return;
  end if;
  for v_cited in
    -- read once: an answer may have hundreds of citations, and a pack hundreds of chunks
    with cited as materialized (
      select c.* from ragdb._cited(output, v_evidence) c
    ), evidence as materialized (
      select k.chunk ->> 'chunk_id' as chunk_id, k.chunk ->> 'source_id' as source_id,
        k.chunk ->> 'text' as text, k.chunk - 'text' as chunk, k.n
      from jsonb_array_elements(v_evidence -> 'chunks') with ordinality k (chunk, n)
    ), first as materialized (
      select distinct on (e.chunk_id) e.* from evidence e order by e.chunk_id, e.n
    ), of_source as materialized (
      select distinct on (e.chunk_id, e.source_id) e.* from evidence e order by e.chunk_id,
        e.source_id, e.n
    ), of_span as materialized (
      select c.answer_start, c.answer_end, array_agg(e.text order by e.n) as texts
      from (select distinct c.answer_start, c.answer_end, c.chunk_id from cited c) c
        join evidence e using (chunk_id)
      where c.answer_start is not null and c.answer_end is not null group by 1, 2
    )
    select c.*, coalesce(s.text, f.text) as text,
      coalesce(s.source_id, f.source_id) as found_source,
      coalesce(s.chunk, f.chunk) as chunk, a.texts
    from cited c
      left join first f on f.chunk_id = c.chunk_id and c.source_id is null
      left join of_source s on s.chunk_id = c.chunk_id and s.source_id = c.source_id
      left join of_span a on (a.answer_start, a.answer_end) = (c.answer_start, c.answer_end)
    order by c.n, c.chunk_id
  loop
    citation := v_cited.n;
    source_id := v_cited.source_id;
    chunk_id := v_cited.chunk_id;
    method := null; start_offset := null; end_offset := null; similarity := null;
    is_advisory := false;
    v_problems := 0;
    v_text := v_cited.text;
    if v_text is null then
      code := case when v_cited.is_marker then 'MARKER_UNRESOLVED' else 'CITE_UNKNOWN' end;
      message := case when v_cited.is_marker then 'marker ' || v_cited.chunk_id
        || ' names no chunk of the evidence'
        else 'the evidence has no chunk ' || ragdb._quote(v_cited.chunk_id)
          || coalesce(' of source ' || ragdb._quote(v_cited.source_id), '') end;
      return next;
      continue;
    end if;
    source_id := v_cited.found_source;
    v_trace_id := coalesce(check_citations.trace_id, ragdb._trace_of(v_cited.chunk),
      ragdb._trace_of(v_evidence));
    if v_trace_id is distinct from v_trace.id then
      v_trace := null;
      v_is_admissible := false;
      if v_trace_id is not null then
        v_trace := ragdb._open_trace(v_trace_id);
      end if;
      v_is_verified := null;
    end if;
    if v_trace.id is not null then
      select h.* into v_hit from ragdb._cited_hit(v_trace, v_cited.chunk_id, v_text) h;
      if v_hit.is_admissible and v_is_verified is null then
        v_is_verified := not exists (select from ragdb.verify_trace(v_trace.id) v
          where not v.is_intact);
      end if;
      v_is_admissible := v_hit.is_admissible and v_is_verified;
      if not v_hit.is_retrieved then
        code := 'CITE_NOT_RETRIEVED';
        message := 'the trace did not retrieve this chunk';
        v_problems := v_problems + 1;
        return next;
      elsif v_hit.is_changed then
        code := 'CITE_STALE';
        message := 'the chunk has changed or gone since the trace';
        v_problems := v_problems + 1;
        return next;
      elsif not v_hit.is_said then
        code := 'CITE_NOT_RETRIEVED';
        message := 'the trace retrieved this chunk with another text';
        v_problems := v_problems + 1;
        return next;
      end if;
    end if;
    if (require_admissible or v_trace.retrieval_mode = 'slice') and not v_is_admissible then
      code := 'CITE_NOT_ADMISSIBLE';
      message := 'no admissible slice of the trace has this chunk';
      v_problems := v_problems + 1;
      return next;
    end if;
    if v_cited.quote is not null then
      v_letters := replace((ragdb._quotable(v_cited.quote)).letters, ' ', '');
      if length(v_letters) < min_quote then
        code := 'QUOTE_TOO_SHORT';
        message := 'the quote has ' || length(v_letters) || ' letters and not ' || min_quote;
        v_problems := v_problems + 1;
        return next;
      else
        select f.* into v_found from ragdb._find_quote(v_text, v_cited.quote) f;
        if v_found.method is null then
          v_missing := ragdb._crosses(v_cited.quote, v_cited.chunk_id, v_evidence);
          code := case when v_missing is null then 'QUOTE_NOT_FOUND'
            else 'QUOTE_CROSSES_CHUNKS' end;
          message := case when v_missing is null then 'the chunk does not say this'
            else 'a part of the quote is in chunk ' || ragdb._quote(v_missing) end;
          v_problems := v_problems + 1;
          return next;
        else
          method := v_found.method;
          similarity := v_found.similarity;
          start_offset := ragdb._units(v_text, v_found.start_offset, offsets);
          end_offset := ragdb._units(v_text, v_found.end_offset, offsets);
          if v_cited.start_claim is not null
              and (ragdb._integer(v_cited.start_claim), ragdb._integer(v_cited.end_claim))
                is distinct from (start_offset, end_offset) then
            code := 'OFFSETS_CORRECTED';
            message := 'the quote stands elsewhere than the citation says';
            is_advisory := true;
            return next;
            is_advisory := false;
          end if;
        end if;
      end if;
    elsif v_cited.start_claim is not null or v_cited.end_claim is not null then
      v_at_start := ragdb._code_points(v_text, ragdb._integer(v_cited.start_claim), offsets);
      v_at_end := ragdb._code_points(v_text, ragdb._integer(v_cited.end_claim), offsets);
      if coalesce(v_at_start >= v_at_end, true) then
        code := 'SPAN_INVALID';
        message := 'start and end are no range of the chunk';
        v_problems := v_problems + 1;
        return next;
      else
        start_offset := ragdb._integer(v_cited.start_claim);
        end_offset := ragdb._integer(v_cited.end_claim);
      end if;
    end if;
    if v_cited.answer_start is not null or v_cited.answer_end is not null or v_cited.is_marker then
      -- markers and blocks are counted here, in code points
      v_at_start := ragdb._integer(v_cited.answer_start);
      v_at_end := ragdb._integer(v_cited.answer_end);
      if not v_cited.is_marker and jsonb_typeof(output -> 'content') is distinct from 'array' then
        v_at_start := ragdb._code_points(v_answer, v_at_start, offsets);
        v_at_end := ragdb._code_points(v_answer, v_at_end, offsets);
      end if;
      if coalesce(v_at_start >= v_at_end or v_at_end > length(v_answer), true) then
        code := 'SPAN_INVALID';
        message := case when v_cited.is_marker then 'there is no text before the marker'
          else 'answer_start and answer_end are no range of the answer' end;
        v_problems := v_problems + 1;
        return next;
      else
        -- of all chunks cited for the same span one must have it
        v_missing := ragdb._unsupported(substr(v_answer, v_at_start + 1, v_at_end - v_at_start),
          v_cited.texts);
        if v_missing is not null then
          code := 'NUMBER_UNSUPPORTED';
          message := 'the answer says ' || ragdb._quote(v_missing)
            || ' here and the cited chunk does not';
          v_problems := v_problems + 1;
          return next;
        end if;
        if v_problems = 0 then
          v_said := v_said + int4multirange(int4range(v_at_start, v_at_end));
        end if;
      end if;
    end if;
    if v_problems = 0 then
      code := null;
      message := null;
      return next;
    end if;
  end loop;
  citation := null; source_id := null; chunk_id := null; method := null;
  start_offset := null; end_offset := null;
  similarity := null;
  if require_citations and not exists (select from ragdb._cited(output, v_evidence)) then
    code := 'CITATION_REQUIRED';
    message := 'missing citations';
    return next;
  end if;
  if min_coverage > 0 then
    -- markers are no part of what is said
    select coalesce(string_agg(coalesce(t.said, repeat(' ', length(t.marker))), '' order by t.n),
      '') into v_text from ragdb._marked(v_answer) t;
    v_all := length(regexp_replace(v_text, '\s+', '', 'g'));
    select coalesce(sum(length(regexp_replace(substr(v_text, lower(r) + 1, upper(r) - lower(r)),
      '\s+', '', 'g'))), 0)
      into v_covered from unnest(v_said) r;
    if v_covered < min_coverage * v_all or v_all = 0 then
      code := 'COVERAGE_BELOW_THRESHOLD';
      message := v_covered || ' of ' || v_all || ' characters of the answer are cited';
      return next;
    end if;
  end if;
  is_advisory := true;
  code := 'OVER_CITED';
  for v_cited in
    select count(distinct c.chunk_id) as chunks, c.answer_start, c.answer_end
    from ragdb._cited(output, v_evidence) c where c.answer_start is not null
    group by c.answer_start, c.answer_end having count(distinct c.chunk_id) > 3
    order by c.answer_start, c.answer_end
  loop
    message := v_cited.chunks || ' chunks are cited for one span';
    return next;
  end loop;
end $$;
comment on function ragdb.check_citations(jsonb, jsonb, uuid, boolean, boolean, float8, integer,
  text) is
  'Checks without a model the citations of an output against its evidence and the trace that '
  'retrieved it: a row for each citation (from 0) with code null and where its quote stands, or '
  'one for each problem; min_coverage (0 to 1) is the share of the answer that must be cited, '
  'min_quote the letters (1 to 1000) of a quote, offsets what places are counted in (codepoint, '
  'utf16, byte). It proves reference, place and words, not that the answer follows. Raises RG400, '
  'RG407, RG460.';

create or replace function ragdb._unsupported(said text, texts text[]) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_said text := (ragdb._quotable(said)).letters;
  v_texts text[];
begin
  if v_said !~ '[0-9_]' then
    return null;
  end if;
  v_texts := array(select (ragdb._quotable(t.text)).letters from unnest(texts) t (text));
  return (
    select s.term from (
      select n.numeral as term, 1 as kind, n.n
      from unnest(ragdb._numerals(v_said)) with ordinality n (numeral, n)
      where not exists (select from unnest(v_texts) t (text)
        where n.numeral = any (ragdb._numerals(t.text)))
      union all
      select i.term, 2, i.n
      from unnest(ragdb._terms_of(v_said)) with ordinality i (term, n)
      where not exists (select from unnest(v_texts) t (text) where strpos(t.text, i.term) > 0)) s
    order by s.kind, s.n limit 1);
end $$;
comment on function ragdb._unsupported(text, text[]) is
  'Returns a number or an identifier of a text that none of several others has; null when all are '
  'there.';
