-- The words that static embedders keep because they had to cut them: forgotten with the texts that
-- had them, or dropped.

-- Takes the words of some texts out of those that static embedders keep because they had to cut
-- them. In an order, so that two that forget do not deadlock. A word that another text has is cut
-- again where it is asked for. The texts are read before a kept word is looked for (materialized):
-- else all of them are read again for each, where the statistics say that none is kept.
create or replace function ragdb_internal.forget_words(texts text[]) returns void
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  with said as materialized (
    select distinct m.embedder_id, c.word
    from ragdb.static_models m
      cross join lateral ragdb_internal.counted_words(forget_words.texts, m.folding) c
  ), gone as materialized (
    select w.embedder_id, w.word
    from said s
      join ragdb.static_words w on w.embedder_id = s.embedder_id and w.word = s.word
    order by w.embedder_id, w.word for update of w
  )
  delete from ragdb.static_words w using gone g
    where w.embedder_id = g.embedder_id and w.word = g.word;
end;

-- Drops all words that static embedders keep, where no text is left to read them of. Waits for who
-- keeps some, and nobody for who does. In the order of ragdb_internal.forget_words.
create or replace function ragdb_internal.drop_all_words() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_advisory_xact_lock(ragdb_internal.words_lock(m.embedder_id))
    from (select e.embedder_id from ragdb.static_models e order by 1) m;
  perform from ragdb.static_words w order by w.embedder_id, w.word for update;
  delete from ragdb.static_words;
end $$;

-- Drops the words of static embedders that keep more than 100,000, and tells whether there were
-- any. A name or a number that one text has is kept like a word of many, and nothing tells the two
-- apart: all go, and those that come again are cut once more. Who forgets words waits for nobody
-- here, and nobody for who does.
create or replace function ragdb_internal.drop_many_words() returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder integer;
  v_dropped boolean := false;
begin
  for v_embedder in select m.embedder_id from ragdb.static_models m order by 1 loop
    continue when not exists (
      select from ragdb.static_words w where w.embedder_id = v_embedder offset 100000);
    continue when not ragdb_internal.may_keep_words(v_embedder);
    delete from ragdb.static_words w where w.ctid = any (array(
      select k.ctid from ragdb.static_words k where k.embedder_id = v_embedder
        for update skip locked));
    v_dropped := v_dropped or found;
  end loop;
  return v_dropped;
end $$;
