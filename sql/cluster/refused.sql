-- What a router of several databases does not do, and why.

-- Lists the functions that a router does not route, with the reason.
create or replace function ragdb_internal.refused_routes()
returns table (reason text, names text)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('its secret is random, and each node needs the same: make it in a database of its own, and '
      'bring it with import_signing_key', 'create_signing_key'),
    ('secrets are read in the database that has them', 'export_signing_keys'),
    ('a place in the events of all corpora is of one node: read those of each corpus, with '
      'corpus_events', 'events_after event_envelopes'),
    ('each node has a ledger of its own',
      'ledger_bundle ledger_checkpoint ledger_consistency_proof ledger_entries ledger_entry '
      'ledger_inclusion_proof ledger_root ledger_status ledger_tile list_checkpoints '
      'list_ledger_acts name_ledger record_erasure seal_ledger set_ledger store_checkpoint '
      'verify_ledger'),
    ('its figures are of one node', 'metrics traffic'),
    ('it goes on where it was, in one database: use verify', 'verify_step'),
    ('a position is one server''s', 'log_position has_reached'),
    ('a procedure commits, which another server does not do for it', 'embed_query'),
    ('it is given what was found, which does not say its node', 'evaluate_answer evaluate_case'),
    ('a corpus moves between two nodes: ragdb cluster move',
      'begin_move move_page move_originals hold_move move_digest finish_move move_receipt '
      'accept_move receive_move lacking_originals check_move ready_move open_move announce_move '
      'leave_move'),
    ('it does not name a corpus', 'rag_list_corpora embed_text')
  ) as r (reason, names);
end;
