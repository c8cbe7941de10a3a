-- What evals ask, and what they should find.

create table ragdb.eval_cases (
  corpus_id integer not null
    constraint eval_cases_corpus_exists references ragdb.corpora on delete cascade,
  rag text collate "C" not null,
  eval text collate "C" not null,
  name text collate "C" not null,
  origin text not null
    constraint eval_cases_origin_is_known check (origin in ('contract', 'imported', 'asked')),
  contract text collate "C",
  contract_version integer,
  ordinal integer not null,
  query text not null constraint eval_cases_query_has_words check (query ~ '\S'),
  tags text[] not null,
  k integer,
  min_score float8,
  chunk_count integer,
  anchor text,
  policy text,
  asserts jsonb not null default '[]'
    constraint eval_cases_asserts_are_a_list check (jsonb_typeof(asserts) = 'array'),
  asked_at timestamptz,
  constraint eval_cases_name_is_unique_per_eval primary key (corpus_id, rag, eval, name),
  constraint eval_cases_contract_exists foreign key (contract, contract_version)
    references ragdb.contracts on delete cascade,
  constraint eval_cases_of_contracts_name_theirs check (case origin when 'contract'
    then num_nulls(contract, contract_version) = 0
    else num_nonnulls(contract, contract_version, k, min_score, chunk_count, anchor, policy) = 0
    end),
  constraint eval_cases_of_questions_say_when check ((asked_at is not null) = (origin = 'asked'))
);
create index eval_cases_by_contract on ragdb.eval_cases (contract, contract_version)
  where contract is not null;
comment on table ragdb.eval_cases is
  'Cases of evals: those that contracts in force declare, and those that were imported from files '
  'or made of questions that somebody asked. Read it through ragdb.list_eval_cases.';
comment on column ragdb.eval_cases.corpus_id is 'Corpus of the rag.';
comment on column ragdb.eval_cases.rag is 'The rag.';
comment on column ragdb.eval_cases.eval is 'The eval.';
comment on column ragdb.eval_cases.name is 'Name of the case: the id of its query.';
comment on column ragdb.eval_cases.origin is
  'contract: declared by the contract in force, and replaced with it; imported: from files, and '
  'replaced by the next import; asked: made of a question.';
comment on column ragdb.eval_cases.contract is 'Contract that declares the case; null otherwise.';
comment on column ragdb.eval_cases.contract_version is 'Version of that contract.';
comment on column ragdb.eval_cases.ordinal is
  'Place in the eval of the contract or in the file, from 1; of a question after all that were '
  'there.';
comment on column ragdb.eval_cases.query is 'The query.';
comment on column ragdb.eval_cases.tags is 'Tags by which a run can select the case.';
comment on column ragdb.eval_cases.k is
  'Number of chunks to retrieve; null: as the retriever declares it.';
comment on column ragdb.eval_cases.min_score is
  'Lowest score of a chunk, 0 to 1; null: as the retriever declares it.';
comment on column ragdb.eval_cases.chunk_count is
  'Number of chunks that have to be found; null: any.';
comment on column ragdb.eval_cases.anchor is
  'Chunk around which the slice is built that is searched; null: the corpus is searched.';
comment on column ragdb.eval_cases.policy is 'Policy of that slice; null: the default.';
comment on column ragdb.eval_cases.asserts is
  'What a run tests beside the labels, as a contract''s ragAssert nodes have it.';
comment on column ragdb.eval_cases.asked_at is
  'When the case was made of a question; null for every other.';

create table ragdb.eval_labels (
  corpus_id integer not null,
  rag text collate "C" not null,
  eval text collate "C" not null,
  name text collate "C" not null,
  label_no integer not null,
  source text collate "C" not null,
  start_offset integer,
  end_offset integer,
  grade integer not null,
  span_hash bytea,
  constraint eval_labels_are_unique_per_case primary key (corpus_id, rag, eval, name, label_no),
  constraint eval_labels_case_exists foreign key (corpus_id, rag, eval, name)
    references ragdb.eval_cases on delete cascade,
  constraint eval_labels_span_is_a_range
    check ((start_offset is null) = (end_offset is null)
      and 0 <= start_offset and start_offset < end_offset),
  constraint eval_labels_span_has_a_hash check ((start_offset is null) = (span_hash is null))
);
comment on table ragdb.eval_labels is
  'What a case should find: a document, or a span of one. A label stays valid when the document is '
  'cut into other chunks. The sources that a contract gives a case are its labels.';
comment on column ragdb.eval_labels.corpus_id is 'Corpus of the case.';
comment on column ragdb.eval_labels.rag is 'Rag of the case.';
comment on column ragdb.eval_labels.eval is 'Eval of the case.';
comment on column ragdb.eval_labels.name is 'The case.';
comment on column ragdb.eval_labels.label_no is 'Number of the label in its case, from 1.';
comment on column ragdb.eval_labels.source is 'URI or external id of the document.';
comment on column ragdb.eval_labels.start_offset is
  'First character of the span, from 0; null for the whole document.';
comment on column ragdb.eval_labels.end_offset is 'Character after the span.';
comment on column ragdb.eval_labels.grade is
  'How relevant the document or span is. A grade of 0 or less means: judged, and not relevant.';
comment on column ragdb.eval_labels.span_hash is
  'SHA-256 of the characters of the span at the time of labelling, without white space.';
