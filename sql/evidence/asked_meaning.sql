-- What a question asks the meaning of.

-- Returns the words of an English question that may ask what something is as its plain form has
-- them: without a second question that names nothing more, as in "What is a salt and how does it
-- work?", with "in" for "in the context of", and without "in simple terms" and its like.
create or replace function ragdb_internal.plain_meaning(words text[]) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words text[] := words;
  v_low text[] := string_to_array(lower(array_to_string(words, ' ') collate "C"), ' ');
  v_at integer := (
    select min(w.n) from unnest(v_low) with ordinality w (word, n)
    where w.n > 2 and w.word in ('how', 'why', 'what', 'when', 'where')
      and (v_low[w.n - 1] in ('and', '&') or right(v_low[w.n - 1], 1) in ('?', ',')));
begin
  if v_low[v_at :] <@ '{how,why,what,when,where,does,do,is,are,was,it,its,they,them,this,that,one,
      work,works,used,use,for,i,we,you,someone,people,would,should,could,can,need,matter,important,
      useful,the,purpose,point,exactly,actually}' then
    v_at := v_at - case when v_low[v_at - 1] in ('and', '&') then 2 else 1 end;
    v_words := v_words[: v_at - 1] || rtrim(v_words[v_at], '?,');
    v_low := v_low[: v_at - 1] || rtrim(v_low[v_at], '?,');
  end if;
  v_at := cardinality(v_low);
  v_at := v_at - case when v_low[v_at - 1 :] in ('{in,short}', '{in,detail}', '{in,general}')
      then 2
    when v_low[v_at - 2 :] in ('{in,simple,terms}', '{in,simple,words}', '{in,plain,english}',
      '{in,a,nutshell}') then 3 else 0 end;
  v_words := v_words[: v_at];
  v_at := array_position(v_low, 'in');
  return case
    when v_low[v_at + 1] = 'the' and v_low[v_at + 3] = 'of'
      and v_low[v_at + 2] in ('context', 'field', 'area', 'world', 'domain')
    then v_words[: v_at] || v_words[v_at + 4 :] else v_words end;
end $$;

-- Returns what the words of an English question ask the meaning of; null where they ask something
-- else. One or two words alone ask it too. By their places: to make a pattern of all these forms
-- ready takes a quarter of an answer.
create or replace function ragdb_internal.english_meaning(words text[]) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_low text[] := string_to_array(translate(
    lower(array_to_string(words, ' ') collate "C"), '’', ''''), ' ');
  v_end integer := cardinality(words);
  v_verb integer;
  v_from integer;
begin
  v_end := v_end - case when v_low[v_end] = 'exactly' then 1
    when v_low[v_end - 1 :] in ('{for,me}', '{to,me}') then 2 else 0 end;
  v_verb := case when v_low[2] = 'exactly' then 3 else 2 end;
  v_from := case
    when v_low[1] in ('what''s', 'who''s', 'whats', 'whos') then 2
    when v_low[1] in ('what', 'who') and v_low[v_verb] in ('is', 'are', 'was', 'were')
    then v_verb + 1
    when v_low[: 5] = '{what,do,you,mean,by}' then 6
    when array_to_string(v_low[: 5], ' ') ~ '^what (?:kind|sort|type) of thing (?:is|are)$' then 6
    when v_low[1] in ('define', 'explain', 'describe') and v_low[2] !~ '^(?:how|if|wh.*)$' then 2
    when v_low[1] in ('meaning', 'definition')
      or v_low[: 2] in ('{the,meaning}', '{the,definition}') then 1 end;
  if v_from is not null then
    v_from := v_from + (v_low[v_from] is not distinct from 'exactly')::integer;
    v_from := v_from + case when v_low[v_from : v_from + 1] = '{meant,by}' then 2
      when v_low[v_from : v_from + 1] in ('{meaning,of}', '{definition,of}') then 2
      when v_low[v_from : v_from + 2] in ('{the,meaning,of}', '{the,definition,of}',
        '{the,concept,of}', '{the,notion,of}') then 3
      else 0 end;
    return case when v_from > 1 then nullif(array_to_string(words[v_from : v_end], ' '), '') end;
  end if;
  v_verb := coalesce(array_position(v_low, 'mean', 4), array_position(v_low, 'stand', 4));
  v_from := v_verb
    + case when v_low[v_verb] = 'mean' then 1 when v_low[v_verb + 1] = 'for' then 2 end;
  return case
    when v_low[1] = 'what' and v_low[2] in ('do', 'does') then case
      when v_from > v_end or v_low[v_from] = 'in' then array_to_string(
        words[3 : v_verb - 1] || words[v_from : v_end], ' ') end
    when v_low[1] in ('what', 'who') and v_end > 2
      and v_low[v_end] in ('is', 'are', 'was', 'were', 'means')
    then array_to_string(words[2 : v_end - 1], ' ')
    when v_end <= 2 and v_low[1] !~ '^(?:how|wh.*)$' then array_to_string(words[: v_end], ' ') end;
end $$;

-- Returns the same of a question in German, French, Spanish or Russian, by its text configuration.
create or replace function ragdb_internal.meaning_by_pattern(question text, config text)
returns text
language sql immutable parallel safe
return pg_catalog.substring(question, '(?i)^(?:' || case config
  when 'german' then '(?:was|wer) (?:genau )?(?:ist|sind|war(?:en)?|bedeute[nt]|hei(?:ß|ss)t|meint)'
    '(?: genau)?|was versteht man unter|wofür steh(?:t|en)|definiere'
    '|(?:die )?(?:definition|bedeutung) von|w(?:as|er)(?= .* (?:ist|sind|bedeutet)$)'
  when 'french' then 'qu[''’]est[- ]ce qu(?:e|[''’])|c[''’]est quoi,?|que (?:signifie|veut dire)'
    '|qui est|ce qu[''’]est|définis(?:sez)?|(?:la )?définition d(?:e|[''’])'
  when 'spanish' then '(?:qu[ée]|qui[ée]n) (?:es|son|era|fue|significa|quiere decir)'
    '(?: exactamente)?|defin[ea]|(?:la )?definición de'
  else '[Чч]то (?:такое|значит|означает)|[Кк]то так(?:ой|ая|ие)|(?:[Дд]ай(?:те)? )?[Оо]пределение'
  end || ')(?: |(?<=[’''-]))(.+?)(?: ist| sind| bedeutet)?$');

-- Returns what a question asks the meaning of, as the salt in "What is a salt?", with that in which
-- it has it, as in "In cryptography, what does salt mean?", by the language of a text
-- configuration; null where it asks something else. The question is without its courtesy.
create or replace function ragdb_internal.asked_meaning(question text, config text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words text[] := array_remove(string_to_array(translate(btrim(question,
    E' \t\r\n\u00a0\u202f¿?!.'), E'\t\r\n\u00a0\u202f', '     '), ' '), '');
  v_comma integer;
  v_in text;
begin
  if config not in ('german', 'french', 'spanish', 'russian') then
    v_words := ragdb_internal.plain_meaning(v_words);
  end if;
  if array_to_string(v_words, ' ') ~ '[?!]|[.] ' then
    return null;
  end if;
  if v_words[1] in ('So', 'so', 'So,', 'so,', 'And', 'and', 'Well,', 'OK,', 'Ok,', 'ok,') then
    v_words := v_words[2 :];
  end if;
  v_comma := (select min(w.n) from unnest(v_words[: 4]) with ordinality w (word, n)
    where right(w.word, 1) = ',');
  if v_comma > 1 and lower(v_words[1] collate "C") in ('in', 'im', 'en', 'dans', 'в', 'В') then
    v_in := ' in ' || rtrim(array_to_string(v_words[2 : v_comma], ' '), ',');
    v_words := v_words[v_comma + 1 :];
  end if;
  return case when config in ('german', 'french', 'spanish', 'russian')
    then ragdb_internal.meaning_by_pattern(array_to_string(v_words, ' '), config)
    else ragdb_internal.english_meaning(v_words) end || coalesce(v_in, '');
end $$;
