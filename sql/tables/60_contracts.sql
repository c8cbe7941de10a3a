comment on table ragdb.contracts is 'Versions of applied contracts; old ones stay.';
comment on column ragdb.contracts.contract is 'Name of the contract.';
comment on column ragdb.contracts.version is
  'Version, from 1; a contract that did not change gets none.';
comment on column ragdb.contracts.is_current is 'Whether it is the version in force.';
comment on column ragdb.contracts.nodes_hash is
  'Sha256 of its nodes and keys, wherever they stand in the file.';
comment on column ragdb.contracts.applied_at is 'When it was applied.';
comment on column ragdb.contracts.applied_by is 'Role that applied it.';
comment on table ragdb.contract_nodes is 'The nodes of every version of a contract.';
comment on column ragdb.contract_nodes.contract is 'Name of the contract.';
comment on column ragdb.contract_nodes.version is 'Version of the contract.';
comment on column ragdb.contract_nodes.node_no is 'Place of the node in the contract, from 1.';
comment on column ragdb.contract_nodes.parent_no is 'Node that it is a child of; null at the top.';
comment on column ragdb.contract_nodes.node is
  'What it is: corpus, source, retriever, rag, ragCase and so on.';
comment on column ragdb.contract_nodes.name is 'Its key name.';
comment on column ragdb.contract_nodes.corpus is 'Stored name of the corpus that it is in or of.';
comment on column ragdb.contract_nodes.rag is 'Name of the rag that it is or belongs to.';
comment on column ragdb.contract_nodes.keys is
  'Its keys and values; a uri of files is relative to the contract, without a leading ./.';
comment on column ragdb.contract_nodes.columns is
  'Column of each key in its line; empty where it came without.';
comment on column ragdb.contract_nodes.prompt_sha256 is
  'Sha256 (hex) of the prompt file of a rag; null where it was not there.';
comment on column ragdb.contract_nodes.line is
  'Line of the file, from 1; null where it came without.';
comment on column ragdb.contract_nodes."column" is
  'Column of the line, from 1; null where it came without.';
