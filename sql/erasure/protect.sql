-- What is promoted, decided and refused stays as it was written, for the owner too. Of atoms,
-- proposals and decisions a text or a row may go, once an erasure says so. The lexemes of a text
-- are no evidence: it may be stemmed again, as another major version of PostgreSQL does.

-- Returns an atom or a proposal, as jsonb, with the lexemes that its text has now.
create or replace function ragdb_internal.stemmed_again(item jsonb) returns jsonb
language sql stable parallel safe
return item || pg_catalog.jsonb_build_object('lexemes', (
  select ragdb_internal.lexemes(item ->> 'text', c.text_config) from ragdb.corpora c
  where c.corpus_id = (item ->> 'corpus_id')::integer));

-- Stems the atoms and proposals of a corpus again; the caller holds the corpus lock.
create or replace function ragdb_internal.stem_statements(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update ragdb.semantic_atoms a set lexemes = n.lexemes
    from (
      select s.atom_id, ragdb_internal.lexemes(s.text, corpus.text_config) as lexemes
      from ragdb.semantic_atoms s where s.corpus_id = corpus.corpus_id offset 0) n
    where a.corpus_id = corpus.corpus_id and a.atom_id = n.atom_id and a.lexemes <> n.lexemes;
  update ragdb.semantic_proposals p set lexemes = n.lexemes
    from (
      select s.proposal_id, ragdb_internal.lexemes(s.text, corpus.text_config) as lexemes
      from ragdb.semantic_proposals s where s.corpus_id = corpus.corpus_id offset 0) n
    where p.corpus_id = corpus.corpus_id and p.proposal_id = n.proposal_id
      and p.lexemes <> n.lexemes;
end $$;

-- Trigger of atoms, proposals and decisions (kind, column of the id, column of the text): refuses
-- every change but to stem the text again, or to take away the row or its text after an erasure
-- that says so. Raises RG414.
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
  if tg_op = 'UPDATE' and v_old ? 'lexemes'
    and to_jsonb(new) = ragdb_internal.stemmed_again(v_old)
  then
    return new;
  end if;
  raise exception '% of ragdb.% is refused', lower(tg_op collate "C"), tg_table_name
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
