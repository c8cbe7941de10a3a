-- What kind of thing answers a question: who asks when something was is not answered by what has no
-- date, nor who asks how many by what has no number.

-- Returns the kind of what answers an English question: date, number or digits; null for any. "When
-- does" asks for what must be so rather than for a date, and how much may be said without a number.
-- What asks for more than one thing is answered by one of them.
create or replace function ragdb_internal.asked_kind(question text, config text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text[] := array_remove(
    ragdb_internal.question_words(ragdb_internal.asked_for(question)), '');
  v_first constant integer := case when v_words[1] in ('in', 'on', 'since') then 2 else 1 end;
begin
  return case
    when config <> 'english' or v_words[array_position(v_words, 'and') :]
      && '{who,whom,whose,what,which,where,when,why,how}' then null
    when v_words[v_first] = 'when' and v_words[v_first + 1] in ('was', 'were', 'did') then 'date'
    when v_words[v_first] in ('what', 'which') and v_words[v_first + 1] = 'year' then 'date'
    when v_words[v_first] in ('what', 'which') and v_words[v_first + 1] in ('port', 'ports')
    then 'digits'
    when v_words[array_position(v_words, 'how') + 1] = 'many' then 'number'
    when v_words[v_first] like 'what%' and v_words[
      array_position(v_words[: 5], 'default') + 1] = 'port' then 'digits' end;
end $$;

-- Tells whether a sentence may say such a thing (null: any): digits, or words of numbers or times.
-- What stands behind # or in a link is the number of something else, and may is no month.
create or replace function ragdb_internal.says_kind(sentence text, kind text) returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return kind is null
    or sentence ~ case kind when 'date'
      then '(?<![0-9.,#]|[a-z]/)[0-9]{3,4}(?![0-9]|[.,][0-9])|[0-9]{2}[./-][0-9]{2}'
        '|(?<=[a-z0-9,] )May(?![a-z])'
      else '(?<![#/.0-9])[0-9]' end
    or string_to_array(translate(lower(sentence collate "C"), E'.,;:!?()*_`"’''\n-',
      '                '), ' ') && case kind
    when 'number' then '{one,two,three,four,five,six,seven,eight,nine,ten,eleven,twelve,thirteen,
      fourteen,fifteen,sixteen,seventeen,eighteen,nineteen,twenty,thirty,forty,fifty,sixty,seventy,
      eighty,ninety,dozen,dozens,hundred,hundreds,thousand,thousands,million,millions,billion,
      billions,half,third,quarter,once,twice,single,both,pair,couple,several,many,few,none,zero,all,
      unlimited}'::text[]
    when 'date' then '{january,february,march,april,june,july,august,september,october,
      november,december,monday,tuesday,wednesday,thursday,friday,saturday,sunday,spring,summer,
      autumn,fall,winter,century,centuries,decade,decades,year,years,month,months,week,weeks,day,
      days,hour,hours,night,morning,evening,midnight,noon,ago,today,yesterday,recently,late,later,
      earlier,era,age,ages,period,reign,war,birth,death,childhood,christmas,easter,ad,bc,bce,ce,
      after,before,during,while,until,till,since,following,prior,beginning,start}'
    else '{}' end;
end $$;

-- Returns sentences with less of the score of their chunk where they do not say such a thing (null:
-- any).
create or replace function ragdb_internal.kind_sentences(
  sentences ragdb_internal.evidence_sentence[], kind text)
returns ragdb_internal.evidence_sentence[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when kind is null then sentences else array(
    select case when ragdb_internal.says_kind(s.sentence, kind) then s
      else row(s.n, s.source_id, s.chunk_id, s.page, s.score * 0.6, s.start_offset, s.end_offset,
        s.sentence, s.lexemes, s.headed)::ragdb_internal.evidence_sentence end
    from unnest(sentences) s order by s.n) end;
end $$;
