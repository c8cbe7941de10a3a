-- The sentences that say what something is, for who asks that.

-- Returns what a sentence says something of, as the salt in "A **salt** (a string) is random", what
-- stands before the colon of an item, or the first cell of a row; then the word or the sign behind
-- it, and the rest. Null where it says none. All of it is matched, so that the subject ends at the
-- first such word.
create or replace function ragdb_internal.subject_of(sentence text, config text) returns text[]
language sql immutable parallel safe
return pg_catalog.regexp_match(pg_catalog.regexp_replace(sentence, '\([^)]*\)', '', 'g'),
  '^\|??((?!(?:as|if|when|because|since|while|wenn|weil|da|als|si|quand|cuando|если|когда)\s)'
    '[^|]{1,120}?)([*_`"”»)]*\s*(?:[:：|]|\s[—–-])\s|,?\s+(?:' || case config
    when 'german' then 'ist|sind|war(?:en)?|bedeute[nt]|bezeichne[nt]|hei(?:ß|ss)t'
    when 'french' then 'est|sont|était|désigne|signifie'
    when 'spanish' then 'es|son|era|fue|significa'
    when 'russian' then 'это|означает|является|был[аио]?'
    else 'is|are|was|were|means?|refers?\s+to|stands?\s+for|describes?|denotes?' end
    || ')\s+)(.*)$', 'i');

-- Returns sentences with more of the score of their chunk where they say what something is that a
-- question asks the meaning of: most texts that speak of a thing do not say it.
create or replace function ragdb_internal.defining_sentences(
  sentences ragdb_internal.evidence_sentence[], question text, config text)
returns ragdb_internal.evidence_sentence[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  -- a capital within parts a word
  v_meant constant text[] := tsvector_to_array(ragdb_internal.lexemes(lower(coalesce(
    ragdb_internal.asked_meaning(ragdb_internal.asked_for(question), config), '') collate "C"),
    config));
begin
  return case when v_meant = '{}' then sentences else array(
    select row(s.n, s.source_id, s.chunk_id, s.page, s.score * m.more, s.start_offset,
        s.end_offset, s.sentence, s.lexemes, s.headed)::ragdb_internal.evidence_sentence
    from unnest(sentences) s
      cross join lateral (
        select case when s.lexemes @> v_meant
          then ragdb_internal.subject_of(s.sentence, config) end as told offset 0) t
      cross join lateral (
        select case when t.told is null or v_meant <> tsvector_to_array(ragdb_internal.lexemes(
            lower(t.told[1] collate "C"), config)) then 1
          -- with a sign or an article most texts say what a thing is, and not what is done to it
          when t.told[2] ~ '[:：|—–-]' or lower(split_part(t.told[3], ' ', 1)) = any (
            '{a,an,the,one,any,ein,eine,der,die,das,un,une,una,le,la,les,el,los,las}')
            then 2 else 1.5 end as more) m
    order by s.n) end;
end $$;
