-- The synonyms of a corpus: words that a query finds each other by.

-- Tells whether some words are a list of 2 to 50 of 1 to 200 characters.
create or replace function ragdb_internal.is_synonym_list(words text[]) returns boolean
language sql immutable parallel safe
return words is not null and ragdb_internal.is_list(words)
  and cardinality(words) between 2 and 50
  and not exists (
    select from pg_catalog.unnest(words) w where w !~ E'\\S' or length(w) > 200);

-- Returns the words of a list in JSON; null for what is not an array of texts.
create or replace function ragdb_internal.synonym_list(list jsonb) returns text[]
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(list) = 'array'
  and not list @? '$[*] ? (@.type() != "string")'
  then array(select w.word from pg_catalog.jsonb_array_elements_text(list)
    with ordinality w (word, n) order by w.n) end;

-- Refuses what is not such a list. Stable, or it would be called as it is planned. Raises RG400.
create or replace function ragdb_internal.refuse_synonyms(what text) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception '% is not a list of 2 to 50 words', what
    using errcode = 'RG400', detail = 'each has 1 to 200 characters and stands for the others',
      hint = 'give two words or more, such as car, automobile and motor car';
end $$;

-- Stores pairs of a word and what stands for it, and returns how many are new; the caller holds the
-- corpus lock. Raises RG413.
create or replace function ragdb_internal.store_synonyms(
  corpus ragdb.corpora, words text[], means text[])
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant integer := (ragdb_internal.limits()).synonyms;
  v_added integer;
begin
  insert into ragdb.synonyms (corpus_id, word, means, lexeme)
    select corpus.corpus_id, w.word, p.means, w.lexeme
    from (
      select d.word, ragdb_internal.synonym_lexeme(d.word, corpus.text_config) as lexeme
      from (select distinct u.word from unnest(store_synonyms.words) u (word)) d offset 0) w
      join unnest(store_synonyms.words, store_synonyms.means) p (word, means)
        on p.word = w.word and p.means <> w.word
    where w.lexeme is not null
    order by 1, 2, 3
    on conflict on constraint synonyms_are_unique_per_corpus do nothing;
  get diagnostics v_added = row_count;
  if (select count(*) from ragdb.synonyms s where s.corpus_id = corpus.corpus_id) > v_most then
    raise exception 'corpus % has too many synonyms', ragdb_internal.quote(corpus.name)
      using errcode = 'RG413', detail = format('a corpus has at most %s pairs of them', v_most),
        hint = 'ragdb.remove_synonyms() takes some away';
  end if;
  update ragdb.corpora c set has_synonyms = true
    where c.corpus_id = corpus.corpus_id and v_added > 0;
  perform ragdb_internal.record_state('synonyms', corpus.corpus_id) where v_added > 0;
  return v_added;
end $$;

-- Refuses a corpus that is a part of another. Raises RG400.
create or replace function ragdb_internal.check_is_no_part(corpus ragdb.corpora) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus.part_of is not null then
    raise exception 'corpus % is a part', ragdb_internal.quote(corpus.name)
      using errcode = 'RG400', detail = 'it is searched with the synonyms of its whole',
        hint = 'pass the name of the whole: ragdb.corpus_info() has it as part_of';
  end if;
end $$;

-- Definer, like all that writes tables.
create or replace function ragdb.add_synonyms(corpus text, words text[]) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(corpus, 'write', true);
begin
  perform ragdb_internal.check_is_no_part(v_corpus);
  perform ragdb_internal.refuse_synonyms('words')
    where ragdb_internal.is_synonym_list(words) is not true;
  return (
    select ragdb_internal.store_synonyms(v_corpus, array_agg(w), array_agg(m))
    from unnest(words) w cross join unnest(words) m);
end $$;
comment on function ragdb.add_synonyms is
  'Makes 2 to 50 words, or expressions of several, synonyms in a corpus: a query that has one of '
  'the single words also ranks by the others, at 0.7 of their weight. Returns the pairs that are '
  'new. Raises RG400, RG401, RG404, RG413.';

-- Definer, as above. All are hashed once, and not once for each list.
create or replace function ragdb.add_synonym_lists(corpus text, lists jsonb) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(corpus, 'write', true);
begin
  perform ragdb_internal.check_is_no_part(v_corpus);
  if coalesce(jsonb_typeof(lists), '') <> 'array' then
    raise exception 'lists is not an array'
      using errcode = 'RG400', detail = 'each of its elements is a list of words',
        hint = 'pass [["car", "automobile"], ["fee", "charge"]]';
  end if;
  perform ragdb_internal.refuse_synonyms('list ' || l.n - 1)
    from jsonb_array_elements(lists) with ordinality l (list, n)
    where ragdb_internal.is_synonym_list(ragdb_internal.synonym_list(l.list)) is not true
    order by l.n limit 1;
  return (
    select ragdb_internal.store_synonyms(
      v_corpus, coalesce(array_agg(w), '{}'), coalesce(array_agg(m), '{}'))
    from jsonb_array_elements(lists) l
      cross join lateral ragdb_internal.synonym_list(l) t (words)
      cross join lateral unnest(t.words) w cross join lateral unnest(t.words) m);
end $$;
comment on function ragdb.add_synonym_lists is
  'Adds lists of synonyms, an array of arrays of words, in one call, as ragdb.add_synonyms adds '
  'one. Returns the pairs that are new. Raises RG400, RG401, RG404, RG413.';

create or replace function ragdb.remove_synonyms(corpus text, word text) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(corpus, 'write', true);
  v_removed integer;
begin
  perform ragdb_internal.check_is_no_part(v_corpus);
  if word is null then
    raise exception 'word is null'
      using errcode = 'RG400', detail = 'it is the word whose synonyms go',
        hint = 'ragdb.list_synonyms() lists them';
  end if;
  delete from ragdb.synonyms s where s.corpus_id = v_corpus.corpus_id
    and (s.word = remove_synonyms.word or s.means = remove_synonyms.word);
  get diagnostics v_removed = row_count;
  update ragdb.corpora c
    set has_synonyms = exists (select from ragdb.synonyms s where s.corpus_id = c.corpus_id)
    where c.corpus_id = v_corpus.corpus_id and v_removed > 0;
  perform ragdb_internal.record_state('synonyms', v_corpus.corpus_id) where v_removed > 0;
  return v_removed;
end $$;
comment on function ragdb.remove_synonyms is
  'Takes a word out of the synonyms of a corpus, and returns how many pairs had it. Raises RG400, '
  'RG401, RG404.';

create or replace function ragdb.list_synonyms(
  corpus text, prefix text default '', after text default '', count integer default null)
returns table (word text, synonyms text[])
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.whole_of(ragdb_internal.open_corpus(corpus, 'read', true));
begin
  perform ragdb_internal.check_paged(prefix, after, 'word'),
    ragdb_internal.check_listed(coalesce(count, 1), 'words');
  return query
    select s.word, array_agg(s.means order by s.means) from ragdb.synonyms s
    where s.corpus_id = v_corpus.corpus_id and starts_with(s.word, prefix)
      and s.word > after collate "C"
    group by s.word order by s.word limit count;
end $$;
comment on function ragdb.list_synonyms is
  'Lists the words of a corpus, or of its whole, that have synonyms, with these: those that begin '
  'with a prefix and come after a given one, at most count (1 to 10000; null: all). '
  'Raises RG400, RG404.';
