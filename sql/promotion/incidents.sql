-- Promotion is the only way from what was retrieved to what is known. Every refusal is a row that
-- says why, and an incident.

-- Why a promotion is refused: the code and reason that the caller is given, and the kind and
-- severity of the incident.
create type ragdb_internal.refusal as (code text, reason text, kind text, severity text);

-- Writes the incident of a refused promotion.
create or replace function ragdb_internal.refuse_promotion(
  corpus_id integer, trace_id uuid, refusal ragdb_internal.refusal)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key constant ragdb_internal.signer := ragdb_internal.signing_key();
  v_row ragdb.admissibility_incidents;
begin
  v_row.created_at := ragdb_internal.now();
  v_row.incident_id := ragdb_internal.uuid7(v_row.created_at);
  v_row.corpus_id := corpus_id;
  v_row.kind := refusal.kind;
  v_row.severity := refusal.severity;
  v_row.trace_id := trace_id;
  v_row.caller := ragdb_internal.caller();
  v_row.reason := refusal.reason;
  v_row.incident_hash := ragdb_internal.incident_hash(v_row);
  v_row.incident_mac := ragdb_internal.trace_mac(v_row.incident_hash, v_key.secret);
  insert into ragdb.admissibility_incidents values (v_row.*);
  perform ragdb_internal.note('incident', v_row.incident_id::text, v_row.incident_hash);
end $$;

create or replace function ragdb.list_incidents(corpus text, count integer default 100)
returns table (
  incident_id uuid, created_at timestamptz, kind text, severity text, trace_id uuid, caller text,
  reason text, is_intact boolean)
language plpgsql stable security definer -- incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(list_incidents.corpus, 'write', false, true);
  v_keys constant ragdb_internal.known_keys := ragdb_internal.known_keys();
begin
  perform ragdb_internal.check_listed(list_incidents.count, 'incidents');
  return query
    select i.incident_id, i.created_at, i.kind, i.severity, i.trace_id, i.caller, i.reason,
        ragdb_internal.is_sealed(i.incident_hash, ragdb_internal.incident_hash(i),
          i.incident_mac, i.created_at, v_keys)
      from ragdb.admissibility_incidents i where i.corpus_id = v_corpus.corpus_id
      order by i.created_at desc, i.incident_id limit list_incidents.count;
end $$;
comment on function ragdb.list_incidents is
  'Lists the latest 1 to 10000 refused promotions of a corpus; is_intact tells whether the record '
  'is as it was written. Raises RG400, RG401, RG404.';
