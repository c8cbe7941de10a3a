-- Whether a document of a peer is the one that was signed, and one that ragdb makes: what can be
-- read in two ways would be two documents, and what is not made again so is never passed on.

-- Raises RG492 for an event whose document ragdb does not make.
create or replace function ragdb_internal.refuse_document(event text) returns void
language sql stable parallel safe
return ragdb_internal.refuse_event('its document is not written as ragdb writes it', event,
  'its author signed what ragdb does not make, or what another version made: let the author put '
  'the document anew, and publish it');

-- Refuses a document that is not the one that was signed, or that ragdb does not make. Raises
-- RG492.
create or replace function ragdb_internal.check_body(event ragdb.shared_events, body text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant integer := (ragdb_internal.limits()).peer_document_bytes;
  v_document jsonb;
begin
  if body is null then
    return;
  elsif ragdb_internal.text_hash(body) is distinct from event.body_hash then
    perform ragdb_internal.refuse_event('the document that came with it has another hash',
      event.event, 'its text was changed on the way, or by the peer');
  elsif octet_length(body) > v_most then
    perform ragdb_internal.refuse_event(format('its document has %s bytes', octet_length(body)),
      event.event, format('a document that is shared has at most %s bytes', v_most));
  end if;
  v_document := ragdb_internal.json_of(body);
  if (v_document -> 'sources' = jsonb_build_array(jsonb_build_object('uri', event.source)))
    is not true
  then
    perform ragdb_internal.refuse_event('its document is not one of its source', event.event,
      'its author signed what ragdb does not make');
  elsif v_document::text <> body or v_document ? 'edges' then
    perform ragdb_internal.refuse_document(event.event);
  end if;
end $$;

-- Refuses documents that are otherwise than they came once they are put. Raises RG492.
create or replace function ragdb_internal.check_taken(corpus_id integer,
  settled ragdb_internal.settlement[]) returns void
language sql
begin atomic
  select ragdb_internal.refuse_document(e.event)
    from pg_catalog.unnest(settled) s
      join ragdb.shared_documents d
        on d.corpus_id = check_taken.corpus_id and d.source = s.source
      join ragdb.shared_events e on e.corpus_id = d.corpus_id and e.hash = d.hash
    where s.body is not null
      and ragdb_internal.shared_body(d.corpus_id, d.source) is distinct from s.body;
end;
