-- The words that chunks write where a query probably meant a lexeme.
--
-- A lexeme is seldom a word (parti), and what is one edit from a typed word and has the lexeme is
-- often none either (partiy). So a word that is suggested is read from the texts of a few chunks.

-- Returns how many chunks are read for the words of a lexeme at most. Of twenty times as many,
-- which say it most, those are read that seem to write what was typed but for one edit. Of 1,252
-- misspelt words two more become what was meant where twice as many are read.
create or replace function ragdb_internal.most_read() returns integer
language sql immutable parallel safe
return 5;

-- Returns a word in lower case, but letters that fold to several (ß) as they are, and the sigma
-- that ends a word as one is written there.
create or replace function ragdb_internal.lower_word(word text) returns text
language sql immutable parallel safe
return (
  select pg_catalog.string_agg(
    case
      when l.letter = 'ς' or l.letter = 'Σ' and l.n = pg_catalog.length(lower_word.word) then 'ς'
      when pg_catalog.length(f.letter) = 1 then f.letter
      else l.letter end,
    '' order by l.n)
  from pg_catalog.string_to_table(lower_word.word, null) with ordinality l (letter, n)
    cross join lateral (select ragdb_internal.fold(l.letter) as letter offset 0) f);

-- Returns texts of the chunks of a corpus, or of some of its parts, that say a lexeme most: first
-- those that match a pattern.
create or replace function ragdb_internal.texts_saying(
  corpora ragdb.corpora[], whole ragdb.corpora, lexeme text, pattern text)
returns table (text text)
language sql stable parallel safe
begin atomic
  select ragdb_internal.plain(ragdb_internal.searched_text(
    ragdb_internal.title(c.corpus_id, c.doc_no), c.heading, c.text))
  from (
      select r.corpus_id, r.chunk_no, r.bm25
      from pg_catalog.unnest(texts_saying.corpora) p
        cross join lateral pg_catalog.unnest(ragdb_internal.rank_question(p,
          ragdb_internal.widened_question(p, texts_saying.whole,
            (pg_catalog.quote_literal(texts_saying.lexeme) || ':1')::tsvector, '{}'),
          ragdb_internal.scope(p, '', null), 20 * ragdb_internal.most_read())) r
      where (texts_saying.whole).corpus_id in (p.corpus_id, p.part_of)
      order by r.bm25 desc, r.corpus_id, r.chunk_no
      limit 20 * ragdb_internal.most_read()) b
    cross join lateral (
      select k.corpus_id, k.doc_no, k.heading, k.text from ragdb.chunks k
      where k.corpus_id = b.corpus_id and k.chunk_no = b.chunk_no offset 0) c
  order by c.text ~* texts_saying.pattern desc, b.bm25 desc, b.corpus_id, b.chunk_no
  limit ragdb_internal.most_read();
end;

-- Returns the words of some texts that have a lexeme, in lower case, and how often each is there.
-- The words of a name are read as they are searched, which are inner and html of innerHTML.
create or replace function ragdb_internal.forms_in(texts text[], lexeme text, config text)
returns table (word text, times bigint)
language sql stable parallel safe
begin atomic
  select ragdb_internal.lower_word(u.word), u.times
  from (
      select pg_catalog.array_agg(w.word) as words, pg_catalog.array_agg(w.times) as times
      from (
        select w.word, count(*) as times
        from pg_catalog.unnest(forms_in.texts) t (text)
          cross join lateral pg_catalog.unnest(ragdb_internal.all_words(pg_catalog.lower(
            pg_catalog.concat_ws(' ', t.text, pg_catalog.regexp_replace(t.text,
              '([a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z][a-z]))', '\1 ', 'g')) collate "C"))) w (word)
        group by w.word) w) f
    cross join lateral ragdb_internal.letter_lexemes(f.words, forms_in.config) l (lexemes)
    cross join lateral unnest(f.words, f.times, l.lexemes) u (word, times, lexeme)
  where u.lexeme = forms_in.lexeme;
end;

-- Returns the word that chunks of a corpus, or of some of its parts, write for a lexeme and that is
-- nearest to a word: one that differs in accents alone, else what the likelier edit makes of it,
-- else the fewest edits. Null where none is written by itself, as email of e-mail is not.
create or replace function ragdb_internal.written_as(
  corpora ragdb.corpora[], whole ragdb.corpora, word text, lexeme text)
returns text
language sql stable parallel safe
return (
  select f.word
  from (select ragdb_internal.unaccented(ragdb_internal.lower_word(written_as.word)) as word
      offset 0) t
    cross join lateral ragdb_internal.edits(t.word, 1, pg_catalog.length(t.word)) e
    cross join lateral (
      -- not \m and \M: in some locales a letter past ASCII is none
      select pg_catalog.replace('(?:^|-)(?:'
        || ragdb_internal.with_accents(pg_catalog.string_agg(u.edit, '|'))
        || ')(?:$|-)', '-', '[^A-Za-z0-9\u00c0-\u1fff]') as pattern
      from unnest(e.edits,
        ragdb_internal.letter_lexemes(e.edits, (written_as.whole).text_config)) u (edit, lexeme)
      where ragdb_internal.unaccented(u.lexeme)
        = ragdb_internal.unaccented(written_as.lexeme)) p
    cross join lateral ragdb_internal.forms_in(
      array(select s.text from ragdb_internal.texts_saying(
        written_as.corpora, written_as.whole, written_as.lexeme, p.pattern) s),
      written_as.lexeme, (written_as.whole).text_config) f
    cross join lateral (select ragdb_internal.unaccented(f.word) as plain offset 0) u
  order by u.plain = t.word desc,
    pg_catalog.array_position(e.edits, u.plain) <= e.likely desc nulls last,
    ragdb_internal.edit_distance(t.word, u.plain), f.times desc, f.word collate "C"
  limit 1);
