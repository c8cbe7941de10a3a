-- What is promoted, decided and refused stays as it was written, for the owner too. Of atoms,
-- proposals and decisions a text or a row may go, once an erasure says so.

-- Trigger of atoms, proposals and decisions (kind, column of the id, column of the text): refuses
-- every change but to take away the row or its text after an erasure that says so. Raises RG414.
create or replace function ragdb_internal.refuse_unrecorded() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kind constant text := tg_argv[0];
  v_old constant jsonb := to_jsonb(old);
  v_redacted constant jsonb := v_old || jsonb_build_object(tg_argv[2], null)
    || case when v_old ? 'lexemes' then '{"lexemes": ""}' else '{}' end::jsonb;
begin
  if exists (select from ragdb.erasures e
      where e.item_id = (v_old ->> tg_argv[1])::uuid and e.kind = v_kind
        and e.corpus_id = (v_old ->> 'corpus_id')::integer
        and e.item_hash = (v_old ->> (v_kind || '_hash'))::bytea
        and e.action = case tg_op when 'DELETE' then 'erased' else 'redacted' end)
  then
    if tg_op = 'DELETE' then
      return old;
    elsif to_jsonb(new) = v_redacted then
      return new;
    end if;
  end if;
  raise exception '% of ragdb.% is refused', lower(tg_op), tg_table_name
    using errcode = 'RG414', detail = 'rows that are evidence are append-only, for their owner too',
      hint = 'they go with their document, on record: ragdb.delete_document()';
end $$;

select ragdb_internal.make_append_only('semantic_atoms',
    'ragdb_internal.refuse_unrecorded(''atom'', ''atom_id'', ''text'')'),
  ragdb_internal.make_append_only('semantic_proposals',
    'ragdb_internal.refuse_unrecorded(''proposal'', ''proposal_id'', ''text'')'),
  ragdb_internal.make_append_only('proposal_decisions',
    'ragdb_internal.refuse_unrecorded(''decision'', ''proposal_id'', ''reason'')'),
  ragdb_internal.make_append_only('admissibility_incidents'),
  ragdb_internal.make_append_only('erasures');
