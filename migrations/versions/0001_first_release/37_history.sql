-- What corpora were before: a version for each transaction that wrote, and the rows that it
-- changed. The tables of today know nothing of it: a corpus that keeps no history has no row here.

create table ragdb.corpus_versions (
  corpus_id integer not null
    constraint corpus_versions_corpus_exists references ragdb.corpora on delete cascade,
  version bigint not null,
  began_at timestamptz not null,
  before jsonb not null
    constraint corpus_versions_before_is_an_object check (jsonb_typeof(before) = 'object'),
  constraint corpus_versions_are_unique primary key (corpus_id, version)
);
alter table ragdb.corpus_versions alter corpus_id set statistics 0;
comment on table ragdb.corpus_versions is
  'Versions of corpora that keep their history, and what each corpus was before. Read it through '
  'ragdb.list_versions.';
comment on column ragdb.corpus_versions.corpus_id is 'The corpus.';
comment on column ragdb.corpus_versions.version is 'The version.';
comment on column ragdb.corpus_versions.began_at is
  'When its transaction took the corpus. It never goes back within a corpus.';
comment on column ragdb.corpus_versions.before is
  'The row of ragdb.corpora before that, with space_id, embedder_id and is_filled of the space '
  'that was searched.';

create table ragdb.past_rows (
  corpus_id integer not null
    constraint past_rows_corpus_exists references ragdb.corpora on delete cascade,
  kind text collate "C" not null
    constraint past_rows_kind_is_known check (kind in (
      'document', 'source', 'chunk', 'turn', 'edge', 'embedding', 'synonym')),
  key text collate "C" not null,
  until bigint not null,
  was jsonb,
  erased_hash bytea,
  constraint past_rows_are_unique primary key (corpus_id, kind, key, until),
  constraint past_rows_erased_have_no_content check (erased_hash is null or was is null)
);
-- as for ragdb.documents
alter table ragdb.past_rows alter corpus_id set statistics 0;
create index past_rows_by_version on ragdb.past_rows (corpus_id, kind, until);
-- who erases a source asks what was of its documents
create index past_rows_by_document
  on ragdb.past_rows (corpus_id, kind, ((was ->> 'doc_no')::integer))
  where kind in ('chunk', 'source');
comment on table ragdb.past_rows is
  'Rows as they were until a version of their corpus changed them. At version V a row was what its '
  'first image with until over V says, and what it is today where there is none. Read it through '
  'ragdb.search with as_of and ragdb.diff_corpus.';
comment on column ragdb.past_rows.corpus_id is 'The corpus.';
comment on column ragdb.past_rows.kind is
  'Table of the row: document, source, chunk, turn, edge, embedding or synonym.';
comment on column ragdb.past_rows.key is 'Key of the row in its table, without the corpus.';
comment on column ragdb.past_rows.until is 'Version that changed the row.';
comment on column ragdb.past_rows.was is
  'The row before; null where there was none, and where it was erased.';
comment on column ragdb.past_rows.erased_hash is
  'SHA-256 of a row whose content was erased on purpose, so that nobody can read it again; null '
  'for any other. The act of the erasure names it.';
