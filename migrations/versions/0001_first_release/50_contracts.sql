-- Contracts in all their versions, and when their sources were read.

create table ragdb.contracts (
  contract text collate "C" not null
    constraint contracts_name_is_a_word check (contract ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'),
  version integer not null constraint contracts_version_is_positive check (version > 0),
  is_current boolean not null,
  nodes_hash bytea not null,
  applied_at timestamptz not null,
  applied_by text not null,
  applied_by_oid oid not null,
  constraint contracts_are_unique primary key (contract, version)
);
create unique index contracts_one_version_is_current on ragdb.contracts (contract) where is_current;
comment on table ragdb.contracts is
  'Versions of applied contracts. Old versions stay. Read it through ragdb.list_contracts.';
comment on column ragdb.contracts.contract is 'Name of the contract.';
comment on column ragdb.contracts.version is
  'Version, from 1. Applying a contract that did not change does not add a version.';
comment on column ragdb.contracts.is_current is 'Whether the version is in force.';
comment on column ragdb.contracts.nodes_hash is
  'SHA-256 of its nodes and keys, wherever they stand in the file.';
comment on column ragdb.contracts.applied_at is 'When the version was applied.';
comment on column ragdb.contracts.applied_by is 'Role that applied it.';
comment on column ragdb.contracts.applied_by_oid is
  'Oid of that role.';

create table ragdb.contract_nodes (
  contract text collate "C" not null,
  version integer not null,
  node_no integer not null,
  parent_no integer,
  node text collate "C" not null,
  name text collate "C",
  corpus text collate "C",
  rag text collate "C",
  keys jsonb not null
    constraint contract_nodes_keys_are_an_object check (jsonb_typeof(keys) = 'object'),
  columns jsonb not null,
  prompt_sha256 text,
  line integer,
  "column" integer,
  constraint contract_nodes_are_unique primary key (contract, version, node_no),
  constraint contract_nodes_contract_exists foreign key (contract, version)
    references ragdb.contracts on delete cascade
);
create index contract_nodes_by_name on ragdb.contract_nodes (node, name);
create index contract_nodes_by_parent on ragdb.contract_nodes (contract, version, parent_no);
comment on table ragdb.contract_nodes is
  'The nodes of every version of a contract. Read it through ragdb.export_contract.';
comment on column ragdb.contract_nodes.contract is 'Name of the contract.';
comment on column ragdb.contract_nodes.version is 'Version of the contract.';
comment on column ragdb.contract_nodes.node_no is 'Place of the node in the contract, from 1.';
comment on column ragdb.contract_nodes.parent_no is 'Node that it is a child of; null at the top.';
comment on column ragdb.contract_nodes.node is
  'Kind of node: corpus, source, retriever, rag, ragCase and so on.';
comment on column ragdb.contract_nodes.name is 'Value of its key name.';
comment on column ragdb.contract_nodes.corpus is
  'Stored name of the corpus that the node names or belongs to; null without one.';
comment on column ragdb.contract_nodes.rag is
  'Name of the rag that the node is or belongs to; null without one.';
comment on column ragdb.contract_nodes.keys is
  'Its keys and values. A uri of files is relative to the contract, without a leading ./.';
comment on column ragdb.contract_nodes.columns is
  'Column of each key in its line, which gives the order of the keys; empty where the contract '
  'came without columns.';
comment on column ragdb.contract_nodes.prompt_sha256 is
  'SHA-256 (hex) of the prompt file of a rag; null where the file was missing.';
comment on column ragdb.contract_nodes.line is
  'Line of the file, from 1; null where the contract came without lines.';
comment on column ragdb.contract_nodes."column" is
  'Column of the line, from 1; null where the contract came without columns.';

create table ragdb.source_readings (
  corpus_id integer not null
    constraint source_readings_corpus_exists references ragdb.corpora on delete cascade,
  source_name text collate "C" not null,
  tried_at timestamptz not null,
  read_at timestamptz,
  documents integer not null
    constraint source_readings_documents_are_counted check (documents >= 0),
  failed integer not null constraint source_readings_failures_are_counted check (failed >= 0),
  read_by text collate "C" not null,
  constraint source_readings_are_unique primary key (corpus_id, source_name)
);
comment on table ragdb.source_readings is
  'When each source of a contract was read last, even where nothing had changed. Read it through '
  'ragdb.list_sources.';
comment on column ragdb.source_readings.corpus_id is 'Corpus of the source.';
comment on column ragdb.source_readings.source_name is 'Name of the source in its contract.';
comment on column ragdb.source_readings.tried_at is 'When somebody last tried to read the source.';
comment on column ragdb.source_readings.read_at is
  'When something of the source was last read, or the source was found empty; null when it never '
  'could be read.';
comment on column ragdb.source_readings.documents is
  'Documents found then, including those that had not changed.';
comment on column ragdb.source_readings.failed is 'Files and records that could not be read then.';
comment on column ragdb.source_readings.read_by is 'Role that tried.';
