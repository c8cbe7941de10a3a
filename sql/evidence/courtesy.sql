-- The courtesy around what is asked, in five languages.

-- Returns patterns of what asks a reader for something in English and says nothing of it, such as
-- "Could you please tell me about". To explain or list alone is courtesy only before an article or
-- the like: EXPLAIN ANALYZE and list comprehensions are things to ask about.
create or replace function ragdb_internal.english_courtesies() returns text[]
language sql immutable parallel safe
return array[
  '(?:hi|hello|hey|good\s+(?:morning|day|afternoon|evening))(?:\s+(?:there|all|everyone|team))?'
    '(?:\s*[,!.]\s+|\s+(?=(?:how|wh(?:at|y|en|ere|ich|o)|can|could|do(?:es)?|is|are|i|please)\s))',
  'dear(?:\s+[^\s,.?!]+){1,4},\s+',
  'sorry\s+(?:to\s+bother\s+you|for\s+(?:bothering\s+you|asking))(?:[\s,]+but|[,.!:])\s+',
  '(?:i\s+have\s+|just\s+)?(?:an?(?:other)?\s+|one\s+(?:more\s+)?)?(?:quick\s+|short\s+|simple\s+)?'
    '(?:question|thing)\s*[-:,.]\s+',
  '(?:please\s+help|(?:can|could)\s+(?:you|(?:any|some)(?:one|body))\s+help)(?:\s+(?:me|us))?'
    '\s*[.!?,:]\s+',
  '(?:(?:please|kindly)[\s,]+|(?:can|could|would|will)\s+(?:you|(?:any|some)(?:one|body))\s+'
    '(?:please\s+|kindly\s+)?(?=(?:tell|show|give|help|explain|describe|summari[sz]e|list)\s))'
    '(?:(?:explain|describe|summari[sz]e|list)\s+)?',
  '(?:explain|describe|summari[sz]e|list)\s+(?:(?:to\s+)?(?:me|us)\s+)?(?=(?:the|an?|all|any'
    '|every|each|some|my|your|our|their|its|this|these|if|whether|how|what|why|when|where'
    '|wh(?:ich|o(?:se)?))\s)',
  '(?:tell|show|give|help)\s+(?:me|us)\s+(?:(?:more|some|all|any|an?)\s+)?(?:(?:information'
    '|info|details|help|overview|summary|list)\s+)?(?:(?:about|on|of|with|to)\s+)?',
  '(?:i(?:\s+would|[''’]d)?\s+(?:like|want|need)|i(?:\s+am|[''’]?m)\s+(?:trying|looking))\s+'
    '(?:(?:for\s+)?(?:(?:some|any)\s+)?(?:help|information|info|details)\s+(?:about|on|with)'
    '|to\s+(?:know|ask|learn|(?:find|figure)\s+out|understand)(?:\s+(?:more\s+)?about)?)\s+',
  '(?:(?:i\s+(?:was|am)|i[''’]?m)\s+)?(?:just\s+)?wondering[\s,]+',
  'do\s+you\s+know\s+(?=(?:if|whether|how|what|why|when|where|wh(?:ich|o(?:se)?))\s)',
  '(?:does\s+(?:any|some)(?:one|body)\s+know|what\s+do\s+you\s+know\s+about)\s*:?\s+',
  '(?:do(?:es)?\s+(?:you|(?:any|some)(?:one|body))\s+have\s+)?(?:any|some)\s+'
    '(?:idea|info(?:rmation)?|details)\s+(?:(?:about|on)\s+)?',
  '(?:is|are)\s+there\s+(?:a|any)\s+ways?\s+(?:to|of)\s+', 'is\s+it\s+possible\s+(?:to|that)\s+',
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

-- Returns the words of a question in small letters, without signs.
create or replace function ragdb_internal.question_words(question text) returns text[]
language sql immutable parallel safe
return pg_catalog.string_to_array(pg_catalog.translate(
  pg_catalog.lower(question_words.question), E'.,!?¿-:’\n\r\t', E'       ''   '), ' ');

-- Returns words of which each kind of courtesy has one. To make its patterns ready takes a tenth of
-- what an answer takes, and few questions have such a word.
create or replace function ragdb_internal.courteous() returns text[]
language sql immutable parallel safe
return '{hi,hello,hey,good,please,kindly,tell,show,give,help,know,like,want,need,trying,looking,
  explain,describe,summarize,summarise,list,way,ways,happens,whats,wheres,whos,hows,whens,thanks,
  thank,thx,regards,dear,sorry,question,thing,wondering,possible,idea,info,information,details,
  hallo,guten,bitte,mir,uns,ich,wissen,weißt,weisst,möglichkeit,passiert,danke,dank,
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
  v_bare text;
begin
  if not ragdb_internal.question_words(question) && ragdb_internal.courteous() then
    return question;
  end if;
  v_bare := regexp_replace(regexp_replace(question,
      E'((?:^|[.!?])\\s*¿?)(?:' || array_to_string(ragdb_internal.english_courtesies()
        || ragdb_internal.other_courtesies(), '|') || ')+', E'\\1', 'gi'),
    E'(?:[\\s,]+(?:please|thanks|thx|thank\\s+you|bitte|danke|vielen\\s+dank|merci|s[''’]il\\s+'
      '(?:vous|te)\\s+pla[iî]t|por\\s+favor|gracias|пожалуйста|[Сс]пасибо)(?:\\s+(?:in\\s+advance'
      '|a\\s+lot|(?:so|very)\\s+much))?)?(?:[\\s.!?]+(?:best|kind|warm)\\s+regards'
      '(?:[\\s,]+[^\\s,]+){0,3})?'
      '(?=[\\s.!?]*$)', '', 'i');
  return case when v_bare ~ '[^[:space:][:punct:]¿]' then v_bare else question end;
end $$;
