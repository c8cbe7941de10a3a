-- Who asks why is rather told by what says a reason. Many texts give one without a word of it, so a
-- sentence without such a word counts less, and is no less an answer (bench/results.md, "Why").

-- Tells whether a question asks why, and nothing else, by the language of a text configuration.
create or replace function ragdb_internal.asks_reason(question text, config text) returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text[] := ragdb_internal.question_words(question);
begin
  return case config
    when 'english' then 'why' = any (v_words)
      and not v_words && '{what,which,who,whom,whose,when,where,how}'
    when 'german' then v_words && '{warum,weshalb,wieso}'
    when 'french' then 'pourquoi' = any (v_words)
    when 'spanish' then array_to_string(v_words, ' ') ~ E'\\mpor qu[ée]\\M'
    else false end;
end $$;

-- Tells whether a sentence may say a reason, a purpose or what comes of something.
create or replace function ragdb_internal.says_reason(sentence text, config text) returns boolean
language sql immutable parallel safe
return sentence ~* ('(?<![[:alpha:]])(?:' || case config
  when 'german' then 'weil|denn|damit|um|wegen|aufgrund|deshalb|daher|deswegen|dadurch|grund'
    '|gründen?|da|sodass|dank|sonst|(?:verhinder|vermeid|ermöglich)[[:alpha:]]*'
  when 'french' then 'parce|car|puisque|afin|pour|grâce|raisons?|donc|ainsi|sinon|causes?'
    '|(?:permet|évit|empêch)[[:alpha:]]*'
  when 'spanish' then 'porque|ya que|pues|para|debido|raz[óo]n(?:es)?|por (?:eso|lo|ello|tanto)'
    '|gracias|causas?|dado|(?:permit|evit|impid)[[:alpha:]]*'
  else 'because|since|so that|due to|reasons?|in order to|owing to|thus|therefore|hence|led to'
    '|leads? to|otherwise|thanks to|on account|for fear|purpose|to ensure'
    '|(?:caus|allow|prevent|avoid|enabl|motivat|aim|attribut)[[:alpha:]]*' end
  || ')(?![[:alpha:]])');
