-- What of a question says what is asked for: without the courtesy around it, and without the words
-- that its answer does not repeat.

-- Returns patterns of what asks a reader for something in English and says nothing of it, such as
-- "Could you please tell me about". To explain or list alone is courtesy only before an article or
-- the like: EXPLAIN ANALYZE and list comprehensions are things to ask about.
create or replace function ragdb_internal.english_courtesies() returns text[]
language sql immutable parallel safe
return array[
  '(?:hi|hello|hey|good\s+(?:morning|day|afternoon|evening))(?:\s+(?:there|all|everyone))?'
    '\s*[,!]\s+',
  '(?:(?:please|kindly)[\s,]+|(?:can|could|would|will)\s+you\s+(?:please\s+|kindly\s+)?'
    '(?=(?:tell|show|give|help|explain|describe|summari[sz]e|list)\s))'
    '(?:(?:explain|describe|summari[sz]e|list)\s+)?',
  '(?:explain|describe|summari[sz]e|list)\s+(?:(?:to\s+)?(?:me|us)\s+)?(?=(?:the|an?|all|any'
    '|every|each|some|my|your|our|their|its|this|these|if|whether|how|what|why|when|where'
    '|wh(?:ich|o(?:se)?))\s)',
  '(?:tell|show|give|help)\s+(?:me|us)\s+(?:(?:more|some|all|any|an?)\s+)?(?:(?:information'
    '|info|details|help|overview|summary|list)\s+)?(?:(?:about|on|of|with|to)\s+)?',
  'i(?:\s+would|[''’]d)?\s+(?:like|want|need)\s+(?:(?:some\s+)?(?:help|information|info|details)'
    '\s+(?:about|on|with)|to\s+(?:know|ask|learn|find\s+out|understand)(?:\s+(?:more\s+)?about)?)'
    '\s+',
  'do\s+you\s+know\s+(?=(?:if|whether|how|what|why|when|where|wh(?:ich|o(?:se)?))\s)',
  '(?:is|are)\s+there\s+(?:a|any)\s+ways?\s+(?:to|of)\s+',
  'what\s+happens\s+(?=(?:if|when|after|to|with)\s)',
  '(?:what|where|who|how|when)s\s+(?=(?:the|an?|my|your|our|their|this|that)\s)'];

-- Returns such patterns in German, French, Spanish and Russian. A Cyrillic letter that begins a
-- sentence stands in both cases, because in the locale C PostgreSQL knows those of ASCII alone.
create or replace function ragdb_internal.other_courtesies() returns text[]
language sql immutable parallel safe
return array[
  '(?:hallo|guten\s+(?:morgen|tag|abend))(?:\s+zusammen)?\s*[,!]\s+',
  'bitte[\s,]+',
  '(?:kannst|können|könnt(?:en?|est)?|würde(?:st|n))\s+(?:sie|du|ihr)\s+(?:mir|uns)\s+'
    '(?:(?:bitte|kurz)\s+)*(?:(?:sagen|erklären|erzählen|zeigen|helfen)[\s,]+)?',
  '(?:sage?|erkläre?|erzähle?|zeige?|beschreibe?|nenne?|gib|hilf)n?\s+(?:sie\s+)?(?:mir|uns)\s+'
    '(?:bitte[\s,]+)?(?:(?:etwas|mehr|alles)\s+)?(?:(?:über|zu[mr]?|beim?)\s+)?',
  'ich\s+(?:möchte|will|würde)\s+(?:gerne?\s+)?(?:wissen|fragen|erfahren)[\s,]+',
  '(?:wissen\s+sie|wei(?:ß|ss)t\s+du)[\s,]+',
  'gibt\s+es\s+eine\s+möglichkeit[\s,]+',
  'was\s+passiert[\s,]+(?=wenn\s)',
  'bon(?:jour|soir)\s*[,!]\s+',
  's[''’]il\s+(?:vous|te)\s+pla[iî]t[\s,]+',
  '(?:(?:pouvez|pourriez)-vous|(?:peux|pourrais)-tu)\s+(?:me|nous)\s+(?:dire|expliquer|montrer'
    '|aider|parler)\s+(?:des?\s+|du\s+|à\s+)?',
  '(?:dis|dites|(?:parle|explique|montre|aide)z?)-(?:moi|nous)\s+(?:des?\s+|du\s+|à\s+)?',
  '(?:je\s+(?:voudrais|veux)|j[''’]aimerais)\s+savoir\s+',
  '(?:savez-vous|sais-tu)\s+',
  '(?:hola|buen[oa]s\s+(?:días|tardes|noches))\s*[,!]\s+¿?',
  'por\s+favor[\s,]+¿?',
  '(?:me\s+pued(?:es?|en)\s+(?:decir|explicar|mostrar|ayudar)|(?:pued(?:es?|en)|podrías?)\s+'
    '(?:decir|explicar|mostrar|ayudar)(?:me|nos))\s+(?:(?:a|con|sobre)\s+)?',
  '(?:dime|d[íi]game|cu[ée]ntame|h[áa]blame|expl[íi]came|mu[ée]strame)\s+'
    '(?:(?:de|sobre|acerca\s+de)\s+)?',
  '(?:quiero|quisiera|me\s+gustaría)\s+saber\s+',
  '(?:[Зз]дравствуйте|[Пп]ривет|[Дд]обрый\s+(?:день|вечер)|[Дд]оброе\s+утро)\s*[,!]\s+',
  '[Пп]ожалуйста[\s,]+',
  '(?:[Мм]о(?:жете|жешь|гли\s+бы)\s+(?:вы\s+)?(?:мне\s+)?(?:сказать|объяснить|рассказать)'
    '|(?:[Пп]од)?[Сс]каж(?:и|ите)|[Оо]бъясни(?:те)?|[Рр]асскажи(?:те)?)(?:\s+мне)?[\s,]+'
    '(?:пожалуйста[\s,]+)?(?:об?о?\s+)?',
  '[Яя]\s+(?:хочу|хотел[аи]?\s+бы)\s+(?:знать|узнать)[\s,]+'];

-- Returns a question without the courtesy that begins it or a sentence in it, and that ends it. As
-- it is where nothing else is left. Texts lack such words, so with them a question that a corpus
-- answers is refused: 69 of 100 of squad after "Could you please tell me".
create or replace function ragdb_internal.asked_for(question text) returns text
language sql immutable parallel safe
begin atomic
  select case when b.bare ~ '[^[:space:][:punct:]¿]' then b.bare else asked_for.question end
  from pg_catalog.regexp_replace(pg_catalog.regexp_replace(asked_for.question,
      '((?:^|[.!?])\s*¿?)(?:' || pg_catalog.array_to_string(ragdb_internal.english_courtesies()
        || ragdb_internal.other_courtesies(), '|') || ')+', '\1', 'gi'),
    '[\s,]+(?:please|thanks|thank\s+you|bitte|danke|vielen\s+dank|merci|s[''’]il\s+(?:vous|te)'
      '\s+pla[iî]t|por\s+favor|gracias|пожалуйста|[Сс]пасибо)(?=[\s.!?]*$)', '', 'i') b (bare);
end;

-- Returns a question without the words that its answer seldom repeats: its courtesy; those that ask
-- for a measure, such as "how long", in English and German (bench/results.md, "Words that ask for a
-- measure"); "explain" and its like at the beginning; "work" and "mean" in "how does X work", "what
-- does X mean"; and those of German and Russian that ask and that their stop words lack, as "wann".
-- A capital within a question may begin a name, such as Wen.
create or replace function ragdb_internal.without_asking(question text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(pg_catalog.regexp_replace(pg_catalog.regexp_replace(
  ragdb_internal.asked_for(without_asking.question),
  '^\s*(?:explain|describe|define|summari[sz]e|list|erkläre?|beschreibe?|nenne?|zeige?)\s'
  '|\s(?:erklären|sagen|erzählen|zeigen)(?=[\s.?!]*$)|\m(how\s+(?:long|many|much|often|far|old'
  '|big|large|tall|high|deep|wide|heavy|fast|soon|late|expensive)|wie\s+(?:lang|lange|viel|viele'
  '|vielen|oft|weit|alt|gro(?:ß|ss)|hoch|tief|breit|schwer|schnell|spät|teuer))\M', '', 'gi'),
  '(\m(?:how|what)\s+(?:do|does|did)\s(?!(?:it|this|that|they|you|we)\s)[^.?!]*)\s(?:work|mean)'
    '(?=[\s.?!]*$)', '\1', 'i'),
  '(?:^\s*W|\mw)(?:er|e[nm]|essen|ann|arum|ieso|eshalb|ohin|oher)\M'
  '|(?<![Ѐ-ӿ])(?:[Пп]очему|[Сс]колько|[Оо]ткуда|[Кк]ак(?:ов[аоы]?|ая|о[ейм]|ие|их|ими?|ую))'
  '(?![Ѐ-ӿ])', '', 'g');

-- Returns what the lexemes of a text say in the words of a question: themselves, and each lexeme of
-- it that is read as some of them (an object with their shares, 1 in all).
create or replace function ragdb_internal.also_says(lexemes text[], read_as jsonb) returns text[]
language sql immutable parallel safe
return also_says.lexemes || array(
  select r.asked from pg_catalog.jsonb_each(also_says.read_as) r (asked, words)
  where (
    select sum(w.share::float8) > 0.99
    from pg_catalog.jsonb_each_text(r.words) w (word, share)
    where w.word = any (also_says.lexemes)));

-- Returns what a corpus (null: none) reads words of a question as, of some lexemes: a search of it
-- mends words that it lacks and looks for synonyms. An object for each lexeme of the question, with
-- the share of it that each of the lexemes stands for.
create or replace function ragdb_internal.read_as(
  corpus ragdb.corpora, question text, lexemes text[])
returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text constant text := ragdb_internal.ranking_text(ragdb_internal.without_asking(question));
  v_whole ragdb.corpora;
  v_words tsvector;
begin
  if corpus.corpus_id is null then
    return '{}';
  end if;
  v_whole := ragdb_internal.whole_of(corpus);
  v_words := ragdb_internal.lexemes(v_text, corpus.text_config);
  return (
    select coalesce(jsonb_object_agg(r.asked, r.words), '{}')
    from (
        select s.stands_for as asked, jsonb_object_agg(s.lexeme, s.share / 0.7) as words
        from unnest(ragdb_internal.stand_ins(
          v_whole, v_text, v_words, ragdb_internal.lacking(v_whole, v_words))) s
        where s.lexeme = any (lexemes)
        group by s.stands_for having sum(s.share) > 0.69) r);
end $$;
