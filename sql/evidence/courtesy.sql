-- The courtesy around what is asked, in five languages.

-- A kind of courtesy: words of which it has one, and its pattern. To make the patterns of all kinds
-- ready takes a third of what an answer takes, and a question has words of few.
create type ragdb_internal.courtesy as (words text[], pattern text);

-- Returns what opens a request in English and says nothing of what is asked, such as "Hello, could
-- you please".
create or replace function ragdb_internal.english_openings() returns setof ragdb_internal.courtesy
language sql immutable parallel safe
begin atomic
  values
    ('{hi,hello,hey,good}'::text[],
      '(?:hi|hello|hey|good\s+(?:morning|day|afternoon|evening))(?:\s+(?:there|all|everyone|team))?'
        '(?:\s*[,!.]\s+|\s+(?=(?:how|wh(?:at|y|en|ere|ich|o)|can|could|do(?:es)?|is|are|i|please)'
        '\s))'),
    ('{dear}', 'dear(?:\s+[^\s,.?!]+){1,4},\s+'),
    ('{sorry}',
      'sorry\s+(?:to\s+bother\s+you|for\s+(?:bothering\s+you|asking))(?:[\s,]+but|[,.!:])\s+'),
    ('{question,thing}',
      '(?:i\s+have\s+|just\s+)?(?:an?(?:other)?\s+|one\s+(?:more\s+)?)?(?:quick\s+|short\s+'
        '|simple\s+)?(?:question|thing)\s*[-:,.]\s+'),
    ('{help}',
      '(?:please\s+help|(?:can|could)\s+(?:you|(?:any|some)(?:one|body))\s+help)(?:\s+(?:me|us))?'
        '\s*[.!?,:]\s+'),
    ('{please,kindly,tell,show,give,help,explain,describe,define,summarize,summarise,
      list}',
      '(?:(?:please|kindly)[\s,]+|(?:can|could|would|will)\s+(?:you|(?:any|some)(?:one|body))\s+'
        '(?:please\s+|kindly\s+)?(?=(?:tell|show|give|help|explain|describe|define'
        '|summari[sz]e|list)\s))'
        '(?:(?:explain|describe|summari[sz]e|list)\s+)?');
end;

-- Returns what asks a reader for something in English and says nothing of it, such as "tell me
-- about". To explain or list alone is courtesy only before an article or the like: EXPLAIN ANALYZE
-- and list comprehensions are things to ask about.
create or replace function ragdb_internal.english_requests() returns setof ragdb_internal.courtesy
language sql immutable parallel safe
begin atomic
  values
    ('{explain,describe,summarize,summarise,list}'::text[],
      '(?:explain|describe|summari[sz]e|list)\s+(?:(?:to\s+)?(?:me|us)\s+)?(?=(?:the|an?|all|any'
        '|every|each|some|my|your|our|their|its|this|these|if|whether|how|what|why|when|where'
        '|wh(?:ich|o(?:se)?))\s)'),
    ('{tell,show,give,help}',
      '(?:tell|show|give|help)\s+(?:me|us)\s+(?:(?:more|some|all|any|an?)\s+)?(?:(?:information'
        '|info|details|help|overview|summary|list)\s+)?(?:(?:about|on|of|with|to)\s+)?'),
    ('{like,want,need,trying,looking}',
      '(?:i(?:\s+would|[''’]d)?\s+(?:like|want|need)|i(?:\s+am|[''’]?m)\s+(?:trying|looking))\s+'
        '(?:(?:for\s+)?(?:(?:some|any)\s+)?(?:help|information|info|details)\s+(?:about|on|with)'
        '|to\s+(?:know|ask|learn|(?:find|figure)\s+out|understand)(?:\s+(?:more\s+)?about)?)\s+'),
    ('{wondering}', '(?:(?:i\s+(?:was|am)|i[''’]?m)\s+)?(?:just\s+)?wondering[\s,]+'),
    ('{know}',
      'do\s+you\s+know\s+(?=(?:if|whether|how|what|why|when|where|wh(?:ich|o(?:se)?))\s)'),
    ('{know}',
      '(?:does\s+(?:any|some)(?:one|body)\s+know|what\s+do\s+you\s+know\s+about)\s*:?\s+'),
    ('{idea,info,information,details}',
      '(?:do(?:es)?\s+(?:you|(?:any|some)(?:one|body))\s+have\s+)?(?:any|some)\s+'
        '(?:idea|info(?:rmation)?|details)\s+(?:(?:about|on)\s+)?'),
    ('{way,ways}', '(?:is|are)\s+there\s+(?:a|any)\s+ways?\s+(?:to|of)\s+'),
    ('{possible}', 'is\s+it\s+possible\s+(?:to|that)\s+'),
    ('{happens}', 'what\s+happens\s+(?=(?:if|when|after|to|with)\s)'),
    ('{whats,wheres,whos,hows,whens}',
      '(?:what|where|who|how|when)s\s+(?=(?:the|an?|my|your|our|their|this|that)\s)');
end;

-- Returns such patterns in German and French.
create or replace function ragdb_internal.german_french_courtesies()
returns setof ragdb_internal.courtesy
language sql immutable parallel safe
begin atomic
  values
    ('{hallo,guten}'::text[], '(?:hallo|guten\s+(?:morgen|tag|abend))(?:\s+zusammen)?\s*[,!]\s+'),
    ('{bitte}', 'bitte[\s,]+'),
    ('{mir,uns}',
      '(?:kannst|können|könnt(?:en?|est)?|würde(?:st|n))\s+(?:sie|du|ihr)\s+(?:mir|uns)\s+'
        '(?:(?:bitte|kurz)\s+)*(?:(?:sagen|erklären|erzählen|zeigen|helfen)[\s,]+)?'),
    ('{mir,uns}',
      '(?:sage?|erkläre?|erzähle?|zeige?|beschreibe?|nenne?|gib|hilf)n?\s+(?:sie\s+)?(?:mir|uns)\s+'
        '(?:bitte[\s,]+)?(?:(?:etwas|mehr|alles)\s+)?(?:(?:über|zu[mr]?|beim?)\s+)?'),
    ('{ich}', 'ich\s+(?:möchte|will|würde)\s+(?:gerne?\s+)?(?:wissen|fragen|erfahren)[\s,]+'),
    ('{wissen,weißt,weisst}', '(?:wissen\s+sie|wei(?:ß|ss)t\s+du)[\s,]+'),
    ('{möglichkeit}', 'gibt\s+es\s+eine\s+möglichkeit[\s,]+'),
    ('{passiert}', 'was\s+passiert[\s,]+(?=wenn\s)'),
    ('{bonjour,bonsoir}', 'bon(?:jour|soir)\s*[,!]\s+'),
    ('{s''il}', 's[''’]il\s+(?:vous|te)\s+pla[iî]t[\s,]+'),
    ('{pouvez,pourriez,peux,pourrais}',
      '(?:(?:pouvez|pourriez)-vous|(?:peux|pourrais)-tu)\s+(?:me|nous)\s+(?:dire|expliquer|montrer'
        '|aider|parler)\s+(?:des?\s+|du\s+|à\s+)?'),
    ('{moi,nous}',
      '(?:dis|dites|(?:parle|explique|montre|aide)z?)-(?:moi|nous)\s+(?:des?\s+|du\s+|à\s+)?'),
    ('{je,j''aimerais}', '(?:je\s+(?:voudrais|veux)|j[''’]aimerais)\s+savoir\s+'),
    ('{savez,sais}', '(?:savez-vous|sais-tu)\s+');
end;

-- Returns such patterns in Spanish and Russian. A Cyrillic letter that begins a sentence stands in
-- both cases, because in the locale C PostgreSQL knows those of ASCII alone.
create or replace function ragdb_internal.spanish_russian_courtesies()
returns setof ragdb_internal.courtesy
language sql immutable parallel safe
begin atomic
  values
    ('{hola,buenos,buenas}'::text[], '(?:hola|buen[oa]s\s+(?:días|tardes|noches))\s*[,!]\s+¿?'),
    ('{favor}', 'por\s+favor[\s,]+¿?'),
    ('{puedes,puede,pueden,podría,podrías}',
      '(?:me\s+pued(?:es?|en)\s+(?:decir|explicar|mostrar|ayudar)|(?:pued(?:es?|en)|podrías?)\s+'
        '(?:decir|explicar|mostrar|ayudar)(?:me|nos))\s+(?:(?:a|con|sobre)\s+)?'),
    ('{dime,dígame,digame,cuéntame,cuentame,háblame,hablame,explícame,explicame,muéstrame,
      muestrame}',
      '(?:dime|d[íi]game|cu[ée]ntame|h[áa]blame|expl[íi]came|mu[ée]strame)\s+'
        '(?:(?:de|sobre|acerca\s+de)\s+)?'),
    ('{saber}', '(?:quiero|quisiera|me\s+gustaría)\s+saber\s+'),
    ('{здравствуйте,Здравствуйте,привет,Привет,добрый,Добрый,доброе,Доброе}',
      '(?:[Зз]дравствуйте|[Пп]ривет|[Дд]обрый\s+(?:день|вечер)|[Дд]оброе\s+утро)\s*[,!]\s+'),
    ('{пожалуйста,Пожалуйста}', '[Пп]ожалуйста[\s,]+'),
    ('{сказать,объяснить,рассказать,скажи,Скажи,скажите,Скажите,подскажи,Подскажи,подскажите,
      Подскажите,объясни,Объясни,объясните,Объясните,расскажи,Расскажи,расскажите,Расскажите}',
      '(?:[Мм]о(?:жете|жешь|гли\s+бы)\s+(?:вы\s+)?(?:мне\s+)?(?:сказать|объяснить|рассказать)'
        '|(?:[Пп]од)?[Сс]каж(?:и|ите)|[Оо]бъясни(?:те)?|[Рр]асскажи(?:те)?)(?:\s+мне)?[\s,]+'
        '(?:пожалуйста[\s,]+)?(?:об?о?\s+)?'),
    ('{знать,узнать}', '[Яя]\s+(?:хочу|хотел[аи]?\s+бы)\s+(?:знать|узнать)[\s,]+');
end;

-- Returns the patterns of the kinds of courtesy that have one of some words; null for none.
create or replace function ragdb_internal.courtesies_with(words text[]) returns text
language sql immutable parallel safe
begin atomic
  select pg_catalog.string_agg(c.pattern, '|')
  from (
    select * from ragdb_internal.english_openings()
    union all select * from ragdb_internal.english_requests()
    union all select * from ragdb_internal.german_french_courtesies()
    union all select * from ragdb_internal.spanish_russian_courtesies()) c
  where c.words && courtesies_with.words;
end;

-- Returns the words of a question in small letters, without signs.
create or replace function ragdb_internal.question_words(question text) returns text[]
language sql immutable parallel safe
return pg_catalog.string_to_array(pg_catalog.translate(
  pg_catalog.lower(question_words.question), E'.,!?¿-:’\n\r\t', E'       ''   '), ' ');

-- Returns the words of all kinds of courtesy, and of thanks. Few questions have such a word, and to
-- look through the kinds takes a hundredth of what an answer takes.
create or replace function ragdb_internal.courteous() returns text[]
language sql immutable parallel safe
return '{hi,hello,hey,good,please,kindly,tell,show,give,help,know,like,want,need,trying,looking,
  explain,describe,summarize,summarise,list,way,ways,happens,whats,wheres,whos,hows,whens,thanks,
  thank,thx,regards,dear,sorry,question,thing,wondering,possible,idea,info,information,details,
  define,hallo,guten,bitte,mir,uns,ich,wissen,weißt,weisst,möglichkeit,passiert,danke,dank,
  bonjour,bonsoir,s''il,pouvez,pourriez,peux,pourrais,nous,moi,je,j''aimerais,savez,sais,merci,
  hola,buenos,buenas,favor,puedes,puede,pueden,podría,podrías,dime,dígame,digame,cuéntame,cuentame,
  háblame,hablame,explícame,explicame,muéstrame,muestrame,saber,gracias,
  здравствуйте,Здравствуйте,привет,Привет,добрый,Добрый,доброе,Доброе,пожалуйста,Пожалуйста,сказать,
  объяснить,рассказать,скажи,Скажи,скажите,Скажите,подскажи,Подскажи,подскажите,Подскажите,объясни,
  Объясни,объясните,Объясните,расскажи,Расскажи,расскажите,Расскажите,знать,узнать,спасибо,Спасибо
  }'::text[];

-- Returns a question without the courtesy that begins it or a sentence in it, and that ends it. As
-- it is where nothing else is left. Texts lack such words, so with them a question that a corpus
-- answers is refused (python -m bench.evidence.wording).
create or replace function ragdb_internal.asked_for(question text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text[] := ragdb_internal.question_words(question);
  v_courtesies text;
  v_bare text := question;
begin
  if not v_words && ragdb_internal.courteous() then
    return question;
  end if;
  v_courtesies := ragdb_internal.courtesies_with(v_words);
  if v_courtesies is not null then
    v_bare := regexp_replace(
      v_bare, E'((?:^|[.!?])\\s*¿?)(?:' || v_courtesies || ')+', E'\\1', 'gi');
  end if;
  if v_words && '{please,thanks,thx,thank,bitte,danke,dank,merci,s''il,favor,gracias,regards,
      пожалуйста,Пожалуйста,спасибо,Спасибо}' then
    v_bare := regexp_replace(v_bare,
      E'(?:[\\s,]+(?:please|thanks|thx|thank\\s+you|bitte|danke|vielen\\s+dank|merci|s[''’]il\\s+'
        '(?:vous|te)\\s+pla[iî]t|por\\s+favor|gracias|пожалуйста|[Сс]пасибо)(?:\\s+(?:in\\s+advance'
        '|a\\s+lot|(?:so|very)\\s+much))?)?(?:[\\s.!?]+(?:best|kind|warm)\\s+regards'
        '(?:[\\s,]+[^\\s,]+){0,3})?'
        '(?=[\\s.!?]*$)', '', 'i');
  end if;
  return case when v_bare ~ '[^[:space:][:punct:]¿]' then v_bare else question end;
end $$;
