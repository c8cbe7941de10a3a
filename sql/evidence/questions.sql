-- What of a question its answer says: without the words that ask, and what the rest may be read as.

-- Returns a question without the words that its answer seldom repeats: its courtesy; those that
-- ask what something is; those that ask for a measure, such as "how long", in English and German
-- (bench/results.md, "Words that ask for a measure"); "explain" at the beginning; "work", "mean"
-- and "say" in "how does X work", "what did X say"; "get", "need" and the like in "can I get";
-- would, must and the like, something and anyone; and those of other languages that ask and that
-- their stop words lack, as "wann". A capital within a question may begin a name, such as Wen. What
-- asks is looked for in one script, because a session keeps few patterns ready.
create or replace function ragdb_internal.without_asking(question text, config text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bare constant text := ragdb_internal.asked_for(question);
  -- a name within a sentence stays one behind a comma
  v_left text := regexp_replace(
    coalesce(', ' || ragdb_internal.asked_meaning(v_bare, config), v_bare),
    E'^\\s*(?:explain|describe|define|summari[sz]e|list|erkläre?|beschreibe?|nenne?|zeige?'
    '|listez?|citez?|[éÉ]num[èé]rez?|enumer[ae]|(?:[Пп]еречисли|[Нн]азови)(?:те)?)\\s'
    '|\\s(?:erklären|sagen|erzählen|zeigen)(?=[\\s.?!]*$)|\\m(how\\s+(?:long|many|much|often|far'
    '|old|big|large|tall|high|deep|wide|heavy|fast|soon|late|expensive)|wie\\s+(?:lange?|viel'
    '|vielen?|oft|weit|alt|gro(?:ß|ss)|hoch|tief|breit|schwer|schnell|spät|teuer))\\M', '', 'gi');
begin
  if ragdb_internal.question_words(v_left) && '{work,works,mean,say,said,mention,mentioned,discuss,'
      'discussed,talk,talked,decide,decided,agree,agreed,take,get,need,want,use,find,know,would,'
      'could,must,might,shall,something,anything,someone,anyone,somebody,anybody}' then
    v_left := regexp_replace(regexp_replace(v_left,
      E'\\m(?:would|could|must|might|shall|(?:some|any)(?:thing|one|body))\\M|(?<=\\m(?:d(?:o|id)'
      '|can|could|shall|should|will|would|may|might|must)\\s(?:i|we|you|they)\\s)(?:get|need|want'
      '|use|find|know)\\M', '', 'gi'),
      E'(\\m(?:how|what)\\s+(?:do|does|did)\\s(?!(?:it|this|that|they|you|we)\\s)[^.?!]*)'
      '\\s(?:work|mean)(?=[\\s.?!]*$)'
      '|(\\m(?:did|do|does|was|were|has|have)\\s(?:\\S*[^.?!\\s]\\s){0,4}?)'
      '(?:say|said|mention(?:ed)?|discuss(?:ed)?|talk(?:ed)?|decided?|agreed?|take)\\M',
      E'\\1\\2', 'i');
  end if;
  v_left := regexp_replace(v_left,
    E'(?:^\\s*W|\\mw)(?:er|e[nm]|essen|ann|arum|ieso|eshalb|ohin|oher)\\M', '', 'g');
  return coalesce(regexp_replace(v_left, coalesce(
    ragdb_internal.asking_words(ascii(substring(v_left, E'[^\\u0001-\\u036f\\u2000-\\u206f]'))),
    ragdb_internal.asking_words(config)), ' ', 'g'), v_left);
end $$;

-- Returns the sentences of a question that ask, beside others that only tell, without the words
-- that ask; null where it is one sentence, as most are, or none ends in a question mark.
create or replace function ragdb_internal.asking_sentences(question text, config text) returns text
language sql immutable parallel safe
return case when pg_catalog.strpos(pg_catalog.translate(question, E'.!\n', '?? '), '? ') > 0 then (
  select ragdb_internal.without_asking(
    pg_catalog.string_agg(s.sentence, ' ' order by s.start_offset), config)
  from ragdb_internal.sentences(ragdb_internal.asked_for(question)) s
  where ragdb_internal.opening(s.sentence) = 'question') end;

-- Returns the lexemes of what a question tells beside what it asks, as in "I cook for my kids. How
-- many eggs?", without names and numbers. None where what it asks has no word of its own. asked is
-- the question without the words that ask, asking its sentences that ask (null: none).
create or replace function ragdb_internal.told_lexemes(asking text, asked text, config text)
returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asked constant text[] := case when asking is not null
    then tsvector_to_array(ragdb_internal.lexemes(asking, config)) else '{}' end;
begin
  return case when v_asked = '{}' then v_asked else array(
    select t.lexeme
    from unnest(tsvector_to_array(ragdb_internal.lexemes(regexp_replace(asked,
      E'(?<=[[:alnum:],;]\\s)[[:upper:]]\\S*|\\S*[0-9]\\S*', ' ', 'g'), config))) t (lexeme)
    where t.lexeme <> all (v_asked)) end;
end $$;

-- Returns what the lexemes of a text say in the words of a question: themselves, and each lexeme of
-- it that is read as some of them (an object with their shares, 1 in all). Most questions are read
-- as they are, and there are many sentences.
create or replace function ragdb_internal.also_says(lexemes text[], read_as jsonb) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if read_as is null or read_as = '{}' then
    return lexemes;
  end if;
  return lexemes || array(
    select r.asked from jsonb_each(read_as) r (asked, words)
    where (
      select sum(w.share::float8) > 0.99
      from jsonb_each_text(r.words) w (word, share)
      where w.word = any (also_says.lexemes)));
end $$;

-- Returns the parts of letters and of digits that a lexeme such as iphone15 consists of.
create or replace function ragdb_internal.parts_of(lexeme text, config text) returns text[]
language sql immutable parallel safe
return case when parts_of.lexeme ~ '[0-9][[:alpha:]]|[[:alpha:]][0-9]'
  then pg_catalog.tsvector_to_array(ragdb_internal.lexemes(pg_catalog.regexp_replace(
    parts_of.lexeme, '(?<=[0-9])(?=[[:alpha:]])|(?<=[[:alpha:]])(?=[0-9])', ' ', 'g'), config)) end;

-- Returns what stands for words of a question in a corpus (null: none), each with its share of a
-- word: a search mends words that the corpus lacks and looks for synonyms. A shorter word is too
-- often another one, as bank and back.
create or replace function ragdb_internal.taken_for(
  corpus ragdb.corpora, text text, words tsvector)
returns table (asked text, lexeme text, share float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_whole ragdb.corpora;
  v_lacking text[];
begin
  if corpus.corpus_id is not null then
    v_whole := ragdb_internal.whole_of(corpus);
    v_lacking := ragdb_internal.lacking(v_whole, words);  -- as an argument, for each word again
    return query
      select m.stands_for, m.lexeme, 1::float8
      from ragdb_internal.meant_words(v_whole, text, v_lacking) m
      where length(m.word) > 5
      union all
      select s.stands_for, s.lexeme, s.share / ragdb_internal.stand_in_share()
      from unnest(ragdb_internal.stand_ins(v_whole, text, words, null)) s;
  end if;
end $$;

-- Returns what words of what is asked that are not among some lexemes are read as, of these: what a
-- search of the corpus looks for, what differs in accents alone, as it is typed on a telephone, the
-- parts of iphone15, and what the evidence abbreviates or spells out. An object for each lexeme of
-- the question, with the share of it that each of the lexemes stands for.
create or replace function ragdb_internal.read_as(
  corpus ragdb.corpora, asked text, config text, lexemes text[], evidence jsonb)
returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text constant text := ragdb_internal.ranking_text(asked);
  v_words constant tsvector := ragdb_internal.lexemes(v_text, config);
begin
  return (
    select coalesce(jsonb_object_agg(r.asked, r.words), '{}')
    from (
        select p.asked, jsonb_object_agg(p.lexeme, p.share) as words
        from (
            select * from ragdb_internal.taken_for(corpus, v_text, v_words)
            union
            select w.lexeme, f.lexeme, 1
            from unnest(v_words) w cross join unnest(lexemes) f (lexeme)
            where w.lexeme <> all (lexemes)
              and octet_length(f.lexeme || w.lexeme) > length(f.lexeme || w.lexeme)
              and ragdb_internal.unaccented(f.lexeme) = ragdb_internal.unaccented(w.lexeme)
            union
            select w.lexeme, p.part, 1::float8 / cardinality(parts)
            from unnest(v_words) w
              cross join lateral ragdb_internal.parts_of(w.lexeme, config) parts
              cross join lateral unnest(parts) p (part)
            where w.lexeme <> all (lexemes)
            union
            select * from ragdb_internal.otherwise_named(asked, evidence, config)) p
        where p.lexeme = any (lexemes)
        group by p.asked having sum(p.share) > 0.99) r);
end $$;
