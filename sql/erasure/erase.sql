-- What was derived from a document goes with it: its text (redacted) or its row (erased), as who
-- deletes the document chooses. Each that goes leaves a row that says who, when, what and why.

-- Refuses what is not a choice of redact or erase with a reason of at most 10000 characters. Raises
-- RG400.
create or replace function ragdb_internal.check_erasure(derived text, reason text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if derived is null or derived not in ('redact', 'erase') then
    raise exception 'derived is %', ragdb_internal.quote(derived)
      using errcode = 'RG400',
        detail = 'it says what becomes of the atoms and proposals that rest on what is deleted',
        hint = 'redact takes their texts away, erase their rows';
  end if;
  if length(reason) > 10000 then
    raise exception 'the reason has % characters', length(reason)
      using errcode = 'RG400', detail = 'it is kept for ever', hint = 'give at most 10000';
  end if;
end $$;

-- An atom, a proposal, or the decision about one, with its hash.
create type ragdb_internal.derived_item as (kind text, item_id uuid, item_hash bytea);

-- Returns the atoms of a corpus that rest on one of some chunks (null: all), or on a chunk that is
-- gone and on a text that one of these has. A file that is renamed gives its texts to chunks of
-- another name, and what was derived from them under the old one still goes with them.
create or replace function ragdb_internal.derived_atoms(corpus_id integer, chunk_ids text[])
returns table (atom_id uuid, atom_hash bytea)
language sql stable parallel safe
begin atomic
  select a.atom_id, a.atom_hash from ragdb.semantic_atoms a
  where a.corpus_id = derived_atoms.corpus_id and derived_atoms.chunk_ids is null
  union
  -- apart from that, or a plan for any chunks reads all atoms
  select a.atom_id, a.atom_hash from ragdb.semantic_atoms a
  where a.corpus_id = derived_atoms.corpus_id and a.source_chunk_ids && derived_atoms.chunk_ids
  union
  select a.atom_id, a.atom_hash from ragdb.semantic_atoms a
  where a.corpus_id = derived_atoms.corpus_id
    and a.content_hashes && array(
      select c.content_hash
      from pg_catalog.unnest(derived_atoms.chunk_ids) i (chunk_id)
        cross join lateral (
          select h.content_hash from ragdb.chunks h
          where h.corpus_id = derived_atoms.corpus_id and h.chunk_id = i.chunk_id offset 0) c)
    and exists (
      select from pg_catalog.unnest(a.source_chunk_ids) o (chunk_id)
      where not exists (
        select from ragdb.chunks h
        where h.corpus_id = derived_atoms.corpus_id and h.chunk_id = o.chunk_id));
end;

-- Returns the atoms of a corpus that rest on one of some chunks (null: all), the proposals that
-- rest on those, and the decisions about these. All of them: a session may let an index pass over
-- rows (gin_fuzzy_search_limit).
create or replace function ragdb_internal.derived_items(corpus_id integer, chunk_ids text[])
returns ragdb_internal.derived_item[]
language sql stable parallel safe
set gin_fuzzy_search_limit = 0
begin atomic
  with atom as materialized (
    select a.* from ragdb_internal.derived_atoms(
      derived_items.corpus_id, derived_items.chunk_ids) a
  ), proposal as materialized (
    select p.proposal_id, p.proposal_hash from ragdb.semantic_proposals p
    where p.corpus_id = derived_items.corpus_id
      and p.source_atoms && array(select a.atom_id from atom a)
  ), item as (
    select 'decision' as kind, d.proposal_id as id, d.decision_hash as hash
      from ragdb.proposal_decisions d
      where d.corpus_id = derived_items.corpus_id
        and d.proposal_id in (select p.proposal_id from proposal p)
    union all
    select 'proposal', p.proposal_id, p.proposal_hash from proposal p
    union all
    select 'atom', a.atom_id, a.atom_hash from atom a
  )
  select coalesce(pg_catalog.array_agg(
      row(i.kind, i.id, i.hash)::ragdb_internal.derived_item order by i.kind desc, i.id), '{}')
    from item i;
end;

-- Writes that an item is redacted or erased, why, and because of what. The plans are kept for the
-- next item, whoever asks.
create or replace function ragdb_internal.record_erasure(
  corpus ragdb.corpora, item ragdb_internal.derived_item, action text, cause text, reason text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_key constant ragdb_internal.signer := ragdb_internal.signing_key();
  v_row ragdb.erasures;
begin
  v_row.created_at := ragdb_internal.now();
  v_row.erasure_id := ragdb_internal.uuid7(v_row.created_at);
  v_row.corpus_id := corpus.corpus_id;
  v_row.corpus := corpus.name;
  v_row.kind := item.kind;
  v_row.item_id := item.item_id;
  v_row.item_hash := item.item_hash;
  v_row.action := action;
  v_row.cause := cause;
  v_row.caller := ragdb_internal.caller();
  v_row.reason := reason;
  v_row.erasure_hash := ragdb_internal.erasure_hash(v_row);
  v_row.erasure_mac := ragdb_internal.trace_mac(v_row.erasure_hash, v_key.secret);
  insert into ragdb.erasures values (v_row.*);
  perform ragdb_internal.note('erasure', v_row.erasure_id::text, v_row.erasure_hash);
  if action = 'erased' then
    perform ragdb_internal.record_erased(
      array[ragdb_internal.row_entry(item.kind, corpus.corpus_id, item.item_id)], cause);
  end if;
end $$;

-- Returns the ids of those of some items that are of a kind.
create or replace function ragdb_internal.ids_of_kind(
  items ragdb_internal.derived_item[], kind text)
returns uuid[]
language sql immutable parallel safe
return array(
  select i.item_id from pg_catalog.unnest(items) i where i.kind = ids_of_kind.kind);

-- Takes away what was derived from some chunks of a corpus (null: from all): with redact the texts,
-- with erase the rows, each on record with the cause and the reason.
create or replace function ragdb_internal.erase_derived(
  corpus ragdb.corpora, chunk_ids text[], derived text, cause text, reason text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_id constant integer := corpus.corpus_id;
  v_items constant ragdb_internal.derived_item[] := ragdb_internal.derived_items(v_id, chunk_ids);
  v_atoms constant uuid[] := ragdb_internal.ids_of_kind(v_items, 'atom');
  v_proposals constant uuid[] := ragdb_internal.ids_of_kind(v_items, 'proposal');
  v_decisions constant uuid[] := ragdb_internal.ids_of_kind(v_items, 'decision');
  v_item ragdb_internal.derived_item;
begin
  foreach v_item in array v_items loop
    perform ragdb_internal.record_erasure(corpus, v_item,
      case derived when 'erase' then 'erased' else 'redacted' end, cause, reason);
  end loop;
  if derived = 'erase' then
    -- decisions before what they decide
    delete from ragdb.proposal_decisions d
      where d.corpus_id = v_id and d.proposal_id = any (v_decisions);
    delete from ragdb.semantic_proposals p
      where p.corpus_id = v_id and p.proposal_id = any (v_proposals);
    delete from ragdb.semantic_atoms a where a.corpus_id = v_id and a.atom_id = any (v_atoms);
  else
    update ragdb.proposal_decisions d set reason = null
      where d.corpus_id = v_id and d.proposal_id = any (v_decisions);
    update ragdb.semantic_proposals p set text = null, lexemes = ''
      where p.corpus_id = v_id and p.proposal_id = any (v_proposals);
    update ragdb.semantic_atoms a set text = null, lexemes = ''
      where a.corpus_id = v_id and a.atom_id = any (v_atoms);
  end if;
end $$;

create or replace function ragdb.list_erasures(corpus text, count integer default 100)
returns table (
  erasure_id uuid, created_at timestamptz, kind text, item_id uuid, item_hash text, action text,
  cause text, caller text, reason text, is_intact boolean)
language plpgsql stable security definer -- erasures are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(list_erasures.corpus, 'read');
  v_keys constant ragdb_internal.known_keys := ragdb_internal.known_keys();
begin
  perform ragdb_internal.check_listed(list_erasures.count, 'erasures');
  return query
    select e.erasure_id, e.created_at, e.kind, e.item_id, encode(e.item_hash, 'hex'), e.action,
        e.cause, e.caller, e.reason, ragdb_internal.is_sealed(
          e.erasure_hash, ragdb_internal.erasure_hash(e), e.erasure_mac, e.created_at, v_keys)
      from ragdb.erasures e where e.corpus_id = v_corpus.corpus_id
      order by e.created_at desc, e.erasure_id desc limit list_erasures.count;
end $$;
comment on function ragdb.list_erasures is
  'Lists the latest 1 to 10000 atoms, proposals and decisions of a corpus that were redacted or '
  'erased with what they were derived from: who did it, when, because of what and why; is_intact '
  'tells whether the record is as it was written. Raises RG400, RG401, RG404.';
