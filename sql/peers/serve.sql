-- The events of a shared corpus as peers read them. The text of a document is not kept with its
-- event: it is made of the document, as long as that is what the event says.

create or replace function ragdb.list_shared_events(corpus text, after bigint default 0,
  count integer default 1000)
returns table ("position" bigint, event text, signature text, body text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_export(list_shared_events.corpus, 'events');
  v_shared constant ragdb.shared_corpora := ragdb_internal.shared_corpus(v_corpus);
  v_most constant integer := (ragdb_internal.limits()).page_bytes;
  v_bytes bigint := 0;
  v_event ragdb.shared_events;
begin
  perform ragdb_internal.check_page(0, count);
  for v_event in
    select e.* from ragdb.shared_events e
    where e.corpus_id = v_shared.corpus_id and e.position > coalesce(after, 0)
    order by e.position limit count
  loop
    body := ragdb_internal.event_body(v_event);
    v_bytes := v_bytes + octet_length(v_event.event) + coalesce(octet_length(body), 0);
    -- a page has one event at least
    exit when v_bytes > v_most and position is not null;
    position := v_event.position;
    event := v_event.event;
    signature := encode(v_event.signature, 'hex');
    return next;
  end loop;
end $$;
comment on function ragdb.list_shared_events is
  'Returns the events of a shared corpus after a position, at most count (1 to 1000) and about '
  'four million bytes: each as it was signed, its signature in hex, and its document (a text of '
  'JSON whose SHA-256 the event has) as long as that is what the corpus has. The read is recorded. '
  'Raises RG400, RG404, RG491.';
