-- Words that a corpus lacks, and what was probably meant: the words one edit away whose lexemes the
-- corpus has.
--
-- All words one edit away are written out and looked up in the dictionary by key, a few hundred
-- keys a word. So nothing is kept beside the dictionary, nothing is written when chunks are
-- indexed, and it costs the same in a corpus of any size. Whole words are edited, not lexemes: two
-- letters swapped in an ending change what the stemmer makes of it.

-- Of a script other than Latin it is the letters that stand near those of the word in Unicode.
create or replace function ragdb_internal.alphabet(word text) returns text[]
language sql immutable parallel safe
return array(
  select pg_catalog.chr(a.code) from pg_catalog.generate_series(97, 122) a (code)
  where alphabet.word ~ '[a-z]'
  union all
  select pg_catalog.chr(b.base + o.n)
  from (select distinct pg_catalog.ascii(l.letter) / 64 * 64 as base
      from pg_catalog.regexp_split_to_table(alphabet.word, '') l (letter)
      where pg_catalog.ascii(l.letter) > 127) b
    cross join pg_catalog.generate_series(0, 63) o (n)
  where pg_catalog.chr(b.base + o.n) ~ ('[' || ragdb_internal.wordly() || ']')
    and ragdb_internal.fold(pg_catalog.chr(b.base + o.n)) = pg_catalog.chr(b.base + o.n));
comment on function ragdb_internal.alphabet(text) is
  'Returns the letters that words like a word are written in.';

create or replace function ragdb_internal.edits(word text)
returns table (kind integer, edited text)
language sql immutable parallel safe
begin atomic
  with places as (
    select n, pg_catalog.left(edits.word, n) as before,
      pg_catalog.substr(edits.word, n + 1) as after
    from pg_catalog.generate_series(0, pg_catalog.length(edits.word)) n
  )
  select 1, p.before || pg_catalog.substr(p.after, 2, 1) || pg_catalog.left(p.after, 1)
      || pg_catalog.substr(p.after, 3)
    from places p where p.n < pg_catalog.length(edits.word) - 1
  union all
  select 2, p.before || pg_catalog.substr(p.after, 2)
    from places p where p.after <> '' and pg_catalog.length(edits.word) > 3
  union all
  select k.kind, p.before || a.letter || pg_catalog.substr(p.after, k.kind - 2)
    from places p
      cross join pg_catalog.unnest(ragdb_internal.alphabet(edits.word)) a (letter)
      cross join (values (3), (4)) k (kind)
    where pg_catalog.length(edits.word) > 3 and (k.kind = 3 or p.after <> '');
end;
comment on function ragdb_internal.edits(text) is
  'Returns the words that one edit makes of a word: two letters swapped (kind 1), and of more than '
  'three letters one dropped (2), put in (3) or replaced (4).';

-- Numbers, versions and the pairs of a script without spaces are not words that are misspelt.
create or replace function ragdb_internal.spelt_words(text text, config text)
returns table (word text, lexeme text, frequency integer)
language sql stable parallel safe
begin atomic
  select w.word, l.lexeme collate "C", pg_catalog.count(*)::integer
  from pg_catalog.unnest(ragdb_internal.all_words(
      pg_catalog.lower(ragdb_internal.plain(spelt_words.text) collate "C"))) w (word)
    cross join lateral pg_catalog.unnest(
      ragdb_internal.text_vector(w.word, spelt_words.config)) l
  where pg_catalog.length(w.word) between 3 and 32
    and w.word !~ ('[0-9' || ragdb_internal.spaceless() || ']')
  group by w.word, l.lexeme;
end;
comment on function ragdb_internal.spelt_words(text, text) is
  'Returns the words of a text that may be misspelt, with their lexemes and how often each stands '
  'there.';

create or replace function ragdb_internal.lacking_words(corpus ragdb.corpora, text text)
returns table (word text, lexeme text, frequency integer)
language sql stable parallel safe
begin atomic
  select w.word, w.lexeme, w.frequency
  from ragdb_internal.spelt_words(lacking_words.text, (corpus).text_config) w
  where not exists (
      select from ragdb.lexemes d
      where d.corpus_id = (corpus).corpus_id and d.lexeme = w.lexeme and d.df > 0)
  order by 1
  limit 16;
end;
comment on function ragdb_internal.lacking_words(ragdb.corpora, text) is
  'Returns the words of a text that no chunk of a corpus has, at most 16, with their lexemes.';

create or replace function ragdb_internal.edited_words(word text, config text)
returns table (edited text, lexeme text, kind integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kinds integer[];
  v_words text[];
begin
  select array_agg(e.kind order by e.kind, e.edited collate "C"),
      array_agg(e.edited order by e.kind, e.edited collate "C")
    into v_kinds, v_words from ragdb_internal.edits(edited_words.word) e;
  return query
    select v_words[l.positions[1]], l.lexeme collate "C", v_kinds[l.positions[1]]
    from unnest(ragdb_internal.text_vector(array_to_string(v_words, ' '), config)) l;
end $$;
comment on function ragdb_internal.edited_words(text, text) is
  'Returns the words one edit from a word, a row for each lexeme of them.';

create or replace function ragdb_internal.nearest_words(corpus ragdb.corpora, word text)
returns table (edited text, lexeme text, df integer, kind integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  return query
    select e.edited, d.lexeme, d.df, e.kind
    from ragdb_internal.edited_words(nearest_words.word, corpus.text_config) e
      cross join lateral (select x.lexeme, x.df from ragdb.lexemes x
        where x.corpus_id = corpus.corpus_id and x.lexeme = e.lexeme and x.df > 0 offset 0) d;
end $$;
comment on function ragdb_internal.nearest_words(ragdb.corpora, text) is
  'Returns the words one edit from a word whose lexemes a corpus has, a row for each lexeme.';

-- A letter swapped, then what most chunks have: the more often a word is written, the more often it
-- is misspelt.
create or replace function ragdb_internal.meant_words(corpus ragdb.corpora, text text)
returns table (lexeme text, stands_for text, word text, meant text, frequency integer)
language sql stable parallel safe
begin atomic
  select n.lexeme, w.lexeme, w.word, n.edited, w.frequency
  from ragdb_internal.lacking_words(meant_words.corpus, meant_words.text) w
    cross join lateral (
      select m.lexeme, m.edited from ragdb_internal.nearest_words(meant_words.corpus, w.word) m
      order by m.kind > 1, m.df desc, m.lexeme limit 1) n;
end;
comment on function ragdb_internal.meant_words(ragdb.corpora, text) is
  'Returns for each word of a text that a corpus lacks the word that was probably meant, with the '
  'lexemes of both.';
