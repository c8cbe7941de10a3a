-- The words of a question that ask: what answers it says when, who or how much, and seldom repeats
-- the word that asks (bench/results.md, "Words that ask").

-- Returns a pattern of the words that ask in a language that has a script of its own, by the code
-- of a letter of it; null for none. Chinese and Japanese have letters in common. There a letter
-- that is left alone goes too: the words of a text are pairs of letters.
create or replace function ragdb_internal.asking_words(letter integer) returns text
language sql immutable parallel safe
return case
  when letter between 1024 and 1279 then '(?<![Ѐ-ӿ])(?:[Пп]очему|[Сс]колько|[Оо]ткуда'
    '|[Кк]ак(?:ов[аоы]?|ая|о[ейм]|ие|их|ими?|ую))(?![Ѐ-ӿ])'
  when letter between 880 and 1023 or letter between 7936 and 8191
    then '(?<![Ͱ-Ͽἀ-῿])(?:[Ππ][όο]τε|[Ππ]ού|[Ππ]ώς|[Ππ]οι(?:ος|α|ο|οι|ες|ον|ου|ους|ων)|[Ττ]ι'
    '|[Ππ][όο]σ(?:ο|α|οι|ες|η|ος|ους|ων)|[Γγ]ιατί|ΠΟΤΕ|ΠΟΥ|ΠΩΣ|ΠΟΙΟΣ|ΠΟΙΑ|ΠΟΣΟ|ΤΙ|ΓΙΑΤΙ)'
    '(?![Ͱ-Ͽἀ-῿])'
  when letter between 1536 and 1791
    then '(?<![ء-ٟ])(?:متى|كم)(?![ء-ٟ])'
  when letter between 2304 and 2431 then '(?<![ऀ-ॿ])(?:क्या|कब|कहाँ|कहां|कौन(?:सा|सी|से)?|किन'
    '|किस(?:ने|े|को|का|की|के|में|से)?|क्यों|कैस[ाीे]|कितन[ाीे])(?![ऀ-ॿ])'
  when letter between 3584 and 3711
    then 'เมื่อไหร่|เมื่อไร|เท่าไหร่|เท่าไร|ที่ไหน|ใคร|อะไร|ทำไม|อย่างไร|ยังไง'
  when letter between 12288 and 40959 or letter > 65280
    then '(?:(?<![぀-ヿ㐀-鿿])[぀-ヿ㐀-鿿])?(?:[什甚][么麼]时候|什麼時候'
    '|[为為][什甚][么麼]|是?[什甚][么麼]|怎[么麼][样樣]?|多少|在?哪[里裡儿兒]'
    '|哪[个個些年位]|[谁誰]|如何|[吗嗎]|[几幾](?=[天个個年月点點次位名岁歲])'
    '|いつ(?!も)|どこ|だれ|何|なぜ|どう(?:して|やって)?|いくら|いくつ|ど(?:の|れ|ちら|んな)'
    '|(?:あり|い)?(?:です|ます|ました|でした|でしょう)か(?=[。？?\s]*$))'
    '(?:[぀-ヿ㐀-鿿](?![぀-ヿ㐀-鿿]))?'
  when letter between 44032 and 55203 then '(?<![가-힣])(?:언제|어디|누구|누가|무엇|얼마|며칠|몇|어떻게|어떤|어느'
    '|무슨|왜(?![가-힣]))|(?:니까|[나가까]요)(?=[?？.\s]*$)'
  end;

-- Returns a pattern of the words that ask in the language of a text configuration and that its stop
-- words lack; null for none. Only what asks and is nothing else: "que" and "como" are left. French
-- has the pronoun behind the verb, as in "faut-il".
create or replace function ragdb_internal.asking_words(config text) returns text
language sql immutable parallel safe
return case config when 'french' then '-(?:t-)?(?:ils?|elles?|on|ce|je|tu|nous|vous)(?![\wÀ-ɏ])|'
    else '' end || '(?<![\wÀ-ɏ])(?:' || case config
  when 'french' then '[Qq]uand|[Qq]uel(?:le)?s?|[Cc]ombien|[Cc]omment|[Pp]ourquoi|[Oo]ù|[Qq]uoi'
    '|[Ll](?:e|es|a)quel(?:le)?s?'
  when 'spanish' then '[Cc]u[áa]nt[oa]s?|[Cc]uándo|[Cc]uál|[Cc]u[áa]les|[Qq]uién(?:es)?'
    '|[Aa]?[Dd]ónde|[Cc]ómo'
  when 'turkish' then '[Nn]e\s+(?:zaman|kadar)|[Kk]aç(?:ıncı|ta|tan|a)?|[Hh]angi(?:si|leri)?'
    '|[Nn]ere(?:de|den|ye|si|li)|[Kk]im(?:ler|e|in|i|den)?|[Nn]e(?:yi|ye|den)|[Nn]asıl'
  end || ')(?![\wÀ-ɏ])';
