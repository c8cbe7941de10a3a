-- The hashes of what is promoted and of what is decided about it. A text goes in by its hash, so
-- that a row still proves itself when the text was redacted.

-- Returns the sha256 of some chunk ids with the hashes of their texts, in their order.
create or replace function ragdb_internal.evidence_hash(chunk_ids text[], content_hashes bytea[])
returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(variadic array(
  select f.bytes
    from unnest(chunk_ids, content_hashes) with ordinality as o (chunk_id, hash, n)
    cross join lateral pg_catalog.unnest(array[ragdb_internal.utf8(o.chunk_id), o.hash])
      with ordinality as f (bytes, m)
    order by o.n, f.m));

-- Returns the sha256 of an atom: all its columns but text, lexemes, atom_hash and atom_mac.
create or replace function ragdb_internal.atom_hash(atom ragdb.semantic_atoms) returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.atom/1'::bytea,
  pg_catalog.int4send((atom).corpus_id), pg_catalog.uuid_send((atom).atom_id), (atom).text_hash,
  ragdb_internal.evidence_hash((atom).source_chunk_ids, (atom).content_hashes),
  ragdb_internal.utf8((atom).source_slice_id), pg_catalog.uuid_send((atom).trace_id),
  ragdb_internal.utf8((atom).checks::text), pg_catalog.timestamptz_send((atom).created_at),
  ragdb_internal.utf8((atom).created_by));

-- Returns the sha256 of a proposal: all its columns but text, lexemes, proposal_hash and
-- proposal_mac.
create or replace function ragdb_internal.proposal_hash(proposal ragdb.semantic_proposals)
returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.proposal/1'::bytea,
  pg_catalog.int4send((proposal).corpus_id), pg_catalog.uuid_send((proposal).proposal_id),
  (proposal).text_hash,
  ragdb_internal.fields_hash(variadic array(
    select pg_catalog.uuid_send(a.id)
      from pg_catalog.unnest((proposal).source_atoms) with ordinality as a (id, n) order by a.n)),
  ragdb_internal.utf8((proposal).source_slice_id),
  pg_catalog.timestamptz_send((proposal).created_at),
  ragdb_internal.utf8((proposal).created_by));

-- Returns the sha256 of a decision: all its columns but reason, decision_hash and decision_mac.
create or replace function ragdb_internal.decision_hash(decision ragdb.proposal_decisions)
returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.decision/1'::bytea,
  pg_catalog.int4send((decision).corpus_id), pg_catalog.uuid_send((decision).proposal_id),
  ragdb_internal.utf8((decision).decision), (decision).reason_hash,
  pg_catalog.timestamptz_send((decision).decided_at),
  ragdb_internal.utf8((decision).decided_by));

-- Returns the sha256 of an incident: all its columns but incident_hash and incident_mac.
create or replace function ragdb_internal.incident_hash(incident ragdb.admissibility_incidents)
returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.incident/1'::bytea,
  pg_catalog.uuid_send((incident).incident_id),
  pg_catalog.timestamptz_send((incident).created_at), pg_catalog.int4send((incident).corpus_id),
  ragdb_internal.utf8((incident).kind), ragdb_internal.utf8((incident).severity),
  pg_catalog.uuid_send((incident).trace_id), ragdb_internal.utf8((incident).caller),
  ragdb_internal.utf8((incident).reason));

-- Returns the sha256 of an erasure: all its columns but erasure_hash and erasure_mac.
create or replace function ragdb_internal.erasure_hash(erasure ragdb.erasures) returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.erasure/1'::bytea,
  pg_catalog.uuid_send((erasure).erasure_id),
  pg_catalog.timestamptz_send((erasure).created_at), pg_catalog.int4send((erasure).corpus_id),
  ragdb_internal.utf8((erasure).corpus), ragdb_internal.utf8((erasure).kind),
  pg_catalog.uuid_send((erasure).item_id), (erasure).item_hash,
  ragdb_internal.utf8((erasure).action), ragdb_internal.utf8((erasure).cause),
  ragdb_internal.utf8((erasure).caller), ragdb_internal.utf8((erasure).reason));

-- Tells whether the text of an atom, a proposal or a decision is that of its hash, or was taken
-- away by an erasure and is away. A text that is gone is believed to be redacted only where an
-- erasure says so, and one that an erasure took away is not there again.
create or replace function ragdb_internal.is_own_text(
  kind text, corpus_id integer, item_id uuid, item_hash bytea, text_hash bytea, text text)
returns boolean
language sql stable parallel safe
return (
  select case when is_own_text.text is not null
    then e.last is null and is_own_text.text_hash
      is not distinct from pg_catalog.sha256(ragdb_internal.utf8(is_own_text.text))
    else coalesce(e.last, 'redacted') = 'redacted'
      and (is_own_text.text_hash is null or e.last is not null) end
  from (
    select min(o.action) as last from ragdb.erasures o -- erased comes before redacted
    where o.item_id = is_own_text.item_id and o.corpus_id = is_own_text.corpus_id
      and o.kind = is_own_text.kind and o.item_hash = is_own_text.item_hash) e);

-- Tells whether the hash of a row is the one recomputed, and its signature not wrong; one whose key
-- is not at hand is not.
create or replace function ragdb_internal.is_sealed(
  hash bytea, recomputed bytea, mac bytea, created_at timestamptz, keys ragdb_internal.known_keys)
returns boolean
language sql stable parallel safe
return is_sealed.hash is not distinct from is_sealed.recomputed
  and (ragdb_internal.signature(is_sealed.hash, is_sealed.mac, is_sealed.created_at,
    is_sealed.keys)).is_intact is not false;
