-- How many documents of a corpus are in a language, counted as they come and go: to count them anew read them all.
alter table ragdb.corpora add column languages jsonb not null default '{}'
  constraint corpora_languages_are_counts check (jsonb_typeof(languages) = 'object');
update ragdb.corpora c
  set languages = coalesce((
    select jsonb_object_agg(l.language, l.documents)
    from (select d.language, count(*) as documents from ragdb.documents d
      where d.corpus_id = c.corpus_id and d.language is not null group by d.language) l), '{}');
