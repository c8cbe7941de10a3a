-- Promotion is the only way from what was retrieved to what is known. Every refusal is a row that
-- says why, and an incident.

create type ragdb_internal.refusal as (code text, reason text, kind text, severity text);
comment on type ragdb_internal.refusal is
  'Why a promotion is refused: the code and reason that the caller is given, and the kind and '
  'severity of the incident.';

create or replace function ragdb_internal.refuse_promotion(
  corpus_id integer, trace_id uuid, refusal ragdb_internal.refusal)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := ragdb_internal.now();
  v_id constant uuid := ragdb_internal.uuid7(v_now);
begin
  insert into ragdb.admissibility_incidents
    values (v_id, v_now, corpus_id, (refusal).kind, (refusal).severity, trace_id,
      ragdb_internal.caller(), (refusal).reason);
  perform ragdb_internal.note('incident', v_id::text);
end $$;
comment on function ragdb_internal.refuse_promotion(integer, uuid, ragdb_internal.refusal) is
  'Writes the incident of a refused promotion.';

create or replace function ragdb.list_incidents(corpus text, count integer default 100)
returns table (
  incident_id uuid, created_at timestamptz, kind text, severity text, trace_id uuid, caller text,
  reason text)
language plpgsql stable parallel safe security definer -- incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(list_incidents.corpus, 'write');
begin
  if coalesce(list_incidents.count not between 1 and 10000, true) then
    raise exception 'count is not 1 to 10000'
      using errcode = 'RG400',
        detail = 'it is ' || coalesce(list_incidents.count::text, 'null'),
        hint = 'ask for fewer';
  end if;
  return query
    select i.incident_id, i.created_at, i.kind, i.severity, i.trace_id, i.caller, i.reason
      from ragdb.admissibility_incidents i where i.corpus_id = v_corpus.corpus_id
      order by i.created_at desc, i.incident_id limit list_incidents.count;
end $$;
comment on function ragdb.list_incidents(text, integer) is
  'Lists the latest 1 to 10000 refused promotions of a corpus. Raises RG400, RG401, RG404.';
