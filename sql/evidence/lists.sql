-- The lists of evidence, for who asks for several things or for steps: what leads to a list and its
-- items answer together, and one item says a part (python -m bench.evidence.lists).

-- Returns a pattern of the questions that ask for several things, by the language of a text
-- configuration, in small letters of ASCII: to list them, the plural of what asks, or what must or
-- can be. In English a word that ends in s is a plural behind "which", and behind "what" where a
-- verb follows that is none.
create or replace function ragdb_internal.asks_for_several(config text) returns text
language sql immutable parallel safe
return case config
  when 'german' then '^\W*(?:bitte\s+)?(?:nennen?|zähle?n?|listen?)\M|\mwas\s+(?:sind|muss|müssen'
    '|soll(?:te)?n?|kann|können|darf|dürfen)\M|\mwelche\s+\S+\s+(?!(?:ist|hat|war|wird)\M)'
  when 'french' then '^\W*(?:liste|cite|[éÉ]num[èé]re)[rz]?\M|\mquel(?:le)?s\M'
    '|\mque\s+(?:doit|doivent|dois|peut|peuvent|faut)\M'
  when 'spanish' then '^\W*(?:enumer|list|nombr)[ae]r?\M|\mcu[áa]les\M'
    '|\mqu[ée]\s+(?:(?!es\s)\S+s\s|debe|puede)'
  when 'russian' then '(?<![Ѐ-ӿ])(?:[Кк]ак(?:ие|их|ими|овы)|[Пп]еречисли(?:те)?'
    '|[Нн]азови(?:те)?|[Чч]то\s+(?:должн|нужно|можно|следует))'
  else '(?:^\W*|\m(?:please|you|me|us)\s+)(?:list|enumerate|name)\s|\ma\s+list\s+of\s'
    '|\mwhat\s+(?:are|were|must|should|shall|can|may)\M|\mwhich\s+\S*[^aisu\s]s\s'
    '|\mwh(?:at|ich)\s(?!(?:is|was|has|does)\s)(?:\S+\s){0,3}?\S+(?:\s(?:are|were)|[^siu\s]s\s'
    '(?:are|were|do|does|did|have|can|should|must|may|might|will|could|would|there|to|of|for|in))'
    '\s' end;

-- Returns a pattern of the signs before the items of the lists that a question asks for: of all for
-- several things, of numbers for how something is done; null where it asks for none.
create or replace function ragdb_internal.asked_items(question text, config text) returns text
language sql immutable parallel safe
return case
  when lower(question collate "C") ~ ragdb_internal.asks_for_several(config)
    then '(?:[-*+]|[0-9]{1,3}[.)])'
  when lower(question collate "C") ~ case config
      when 'german' then '\mwie\s+(?:kann|können|soll|muss|wird|werden|\S+e\s+ich|\S+t\s+man)\M'
      when 'french' then '\mcomment\M'
      when 'spanish' then '\mcómo\M'
      when 'russian' then '(?<![Ѐ-ӿ])[Кк]ак\s'
      else '\mhow\s+(?:do(?:es)?|can|could|should|must|to|is|are)\M' end
    then '[0-9]{1,3}[.)]' end;

-- Returns the ranges of the lists of a text, from 0, each of two items or more behind such signs
-- and what belongs to them; of one longer than 1000 characters the first lines that are not.
create or replace function ragdb_internal.lists_in(text text, signs text)
returns table (start_offset integer, end_offset integer)
language sql immutable parallel safe
begin atomic
  with line as (
    select s.line, s.n, s.line ~ ('^\s*' || lists_in.signs || ' ') as is_item,
      s.line ~ '^\s*$' as is_empty,
      (sum(length(s.line) + 1) over (order by s.n))::integer - 1 as stop
    from regexp_split_to_table(lists_in.text, E'\n') with ordinality s (line, n)
  ), block as (
    select l.*, count(*) filter (where l.is_begun) over (order by l.n) as n_block
    from (
      select k.*, k.line ~ '^(?:#|\||```)'
        or k.line ~ '^\S' and not k.is_item and lag(k.is_empty) over (order by k.n) as is_begun
      from line k) l
  )
  select l.start, max(b.stop)
  from (
      select i.n_block, min(i.stop - length(ltrim(i.line))) as start
      from block i where i.is_item group by i.n_block having count(*) > 1) l
    join block b on b.n_block = l.n_block
  where b.stop - l.start between 1 and 1000 and not b.is_empty
  group by l.start;
end;

-- Returns which sentences of evidence are of a list whose items are behind such signs, or lead to
-- it: the number of each, the range of the list with what leads to it, its text, and the lexemes of
-- what leads to it.
create or replace function ragdb_internal.list_members(
  evidence jsonb, sentences ragdb_internal.evidence_sentence[], signs text)
returns table (n integer, start_offset integer, end_offset integer, sentence text, lead_in text[])
language sql immutable parallel safe
begin atomic
  with member as materialized (
    select s.n, s.lexemes, l.text, l.source_id, l.chunk_id, l.start_offset as list_start,
      s.start_offset < l.start_offset as is_lead,
      least(min(s.start_offset) over w, l.start_offset) as start,
      greatest(max(s.end_offset) over w, l.end_offset) as stop
    from (
        select c.chunk ->> 'source_id' as source_id, c.chunk ->> 'chunk_id' as chunk_id,
          c.chunk ->> 'text' as text, i.*
        from jsonb_array_elements(list_members.evidence -> 'chunks') c (chunk)
          cross join lateral ragdb_internal.lists_in(
            c.chunk ->> 'text', list_members.signs) i) l
      join unnest(list_members.sentences) s on s.chunk_id = l.chunk_id
        and s.source_id is not distinct from l.source_id and case
          when s.start_offset >= l.start_offset or s.end_offset > l.start_offset
            then s.end_offset <= l.end_offset
          else substr(l.text, s.end_offset + 1, l.start_offset - s.end_offset) ~ '^\s*$' end
    window w as (partition by l.source_id, l.chunk_id, l.start_offset)
  )
  select m.n, m.start, m.stop, substr(m.text, m.start + 1, m.stop - m.start), array(
    select x
    from member o cross join unnest(o.lexemes) x
    where o.is_lead and (o.chunk_id, o.list_start) = (m.chunk_id, m.list_start)
      and o.source_id is not distinct from m.source_id)
  from member m;
end;

-- Returns sentences of evidence, where a question asks for several things or for steps those of a
-- list, and the one that leads to it, as all of it: as they answer more often, they count half more
-- than others. As they are where one says what is asked the meaning of. Each is found by its own
-- words, and by those that lead to the list as by a heading.
create or replace function ragdb_internal.listed_sentences(evidence jsonb,
  sentences ragdb_internal.evidence_sentence[], question text, config text)
returns ragdb_internal.evidence_sentence[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_signs constant text := ragdb_internal.asked_items(question, config);
  v_meant text[];
begin
  if v_signs is null then
    return sentences;
  end if;
  v_meant := ragdb_internal.meant_lexemes(question, config);
  if v_meant <> '{}' and exists (select from unnest(sentences) s
    where s.lexemes @> v_meant and ragdb_internal.defines(s.sentence, v_meant, config) > 1)
  then
    return sentences;
  end if;
  return array(
    select case when m.n is null then s else row(s.n, s.source_id, s.chunk_id, s.page,
      s.score * 1.5, m.start_offset, m.end_offset, m.sentence, s.lexemes,
      s.headed || m.lead_in)::ragdb_internal.evidence_sentence end
    from unnest(sentences) s
      left join ragdb_internal.list_members(evidence, sentences, v_signs) m on m.n = s.n
    order by s.n);
end $$;
