-- How a claim gives way to who writes a corpus: a transaction that stays open stops one corpus
-- alone.

-- Returns whether a space has chunks that were never looked at.
create or replace function ragdb_internal.has_unqueued(space_id integer) returns boolean
language sql stable parallel safe
begin atomic
  select exists (
    select from ragdb.embedding_spaces s
      join ragdb.chunks c on c.corpus_id = s.corpus_id and c.chunk_no > s.queued_to
    where s.space_id = has_unqueued.space_id);
end;

-- Returns whether a claim has something to do in a space: inputs that are due, or were queued while
-- the clock was ahead, or chunks that are new.
create or replace function ragdb_internal.has_work(corpus_id integer, space_id integer)
returns boolean
language sql volatile parallel safe
return ragdb_internal.has_unqueued(has_work.space_id) or exists (
  select from ragdb.embedding_jobs j
  where j.corpus_id = has_work.corpus_id and j.space_id = has_work.space_id and not j.is_dead
    and (j.due_at <= clock_timestamp() or j.due_at > ragdb_internal.latest_due()));

-- Returns whether somebody else is writing a corpus. The lock that tells is given back: a claim
-- that has not committed holds up no writer.
create or replace function ragdb_internal.is_written(corpus_id integer) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if ragdb_internal.try_corpus(is_written.corpus_id) then
    raise exception 'it is free';
  end if;
  return true;
exception when raise_exception then
  return false;
end $$;

-- Locks the corpus of inputs that are claimed and returns it; null where it was dropped or moved a
-- moment ago, or is locked by somebody else who may not be waited for, or does not end soon: a
-- worker of all corpora does not stop for one. What a claim changes of what a search finds is a
-- write of the corpus as any other. Who writes a corpus may be waiting for jobs that the claim has
-- locked: then it must not be waited for.
create or replace function ragdb_internal.lock_for_claim(corpus_id integer, may_wait boolean)
returns ragdb.corpora
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '500ms'
as $$
declare
  v_corpus ragdb.corpora;
begin
  if not may_wait and not ragdb_internal.try_corpus(lock_for_claim.corpus_id) then
    return null;
  end if;
  begin
    select c.* into v_corpus from ragdb.corpora c
      where c.corpus_id = lock_for_claim.corpus_id and c.moving is distinct from 'moved'
      for no key update;
  exception when lock_not_available then
    return null;
  end;
  return case when v_corpus.corpus_id is not null then ragdb_internal.lock_opened(v_corpus) end;
end $$;
