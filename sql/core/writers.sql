-- The lock that every writer of a corpus holds.

-- Locks the row of a corpus to the end of the transaction, raises its version once, and returns it.
-- Everything that writes to a corpus holds its row lock to the end of the transaction: writers of
-- one corpus are in a queue, so counters are exact and no two of them can deadlock. The version
-- moves once per transaction. Raises RG404, RG456.
create or replace function ragdb_internal.lock_opened(
  corpus ragdb.corpora, takes_moved boolean default false)
returns ragdb.corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
begin
  update ragdb.corpora c
    set version = c.version + case
        when c.version_xid = pg_current_xact_id() and c.updated_at = now() then 0 else 1 end,
      version_xid = pg_current_xact_id(), updated_at = now()
    where c.corpus_id = corpus.corpus_id
    returning c.* into v_corpus;
  if not found then
    raise exception 'corpus % does not exist', ragdb_internal.quote(corpus.name)
      using errcode = 'RG404', detail = 'it was dropped a moment ago',
        hint = 'ragdb.list_corpora() lists the names';
  end if;
  if v_corpus.history is not null then
    perform ragdb_internal.begin_version(v_corpus);
  end if;
  if v_corpus.moving is not null and not takes_moved then
    perform ragdb_internal.begin_moving_write(v_corpus);
  end if;
  return v_corpus;
end $$;

-- Returns the row of a corpus that was opened before a wait as it is now, where the caller still
-- has the right to it. Whoever has waited for a lock looks again: meanwhile its right may have been
-- taken away, and the corpus have moved, been dropped, or become the whole of a part. Raises RG401,
-- RG404, RG438, RG456.
create or replace function ragdb_internal.open_again(
  corpus ragdb.corpora, privilege text, takes_parts boolean default false,
  takes_moved boolean default false)
returns ragdb.corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
begin
  select c.* into v_corpus from ragdb.corpora c where c.corpus_id = corpus.corpus_id;
  if not found then
    perform ragdb_internal.refuse_corpus(corpus.name, privilege, 0);
  end if;
  perform ragdb_internal.check_opened(v_corpus, privilege, takes_parts, takes_moved);
  return v_corpus;
end $$;

-- Opens a corpus, locks its row to the end of the transaction, raises its version once, and returns
-- it. Raises RG400, RG401, RG404, RG438, RG456.
create or replace function ragdb_internal.lock_corpus(
  corpus text, privilege text, takes_parts boolean default false,
  takes_moved boolean default false)
returns ragdb.corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_opened(
    ragdb_internal.open_corpus(corpus, privilege, takes_parts, takes_moved), takes_moved);
begin
  perform ragdb_internal.check_opened(v_corpus, privilege, takes_parts, takes_moved);
  return v_corpus;
end $$;

-- Holds the row of a corpus to the end of the transaction and returns true; false where another
-- holds it, or it is gone.
create or replace function ragdb_internal.try_corpus(corpus_id integer) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from ragdb.corpora c
    where c.corpus_id = try_corpus.corpus_id for no key update skip locked;
  return found;
end $$;

-- Waits for whoever stores something under a corpus whose lock the caller has, and keeps all others
-- from that until the transaction ends. Before a drop looks what there is: else what comes after
-- its look would go without a record.
create or replace function ragdb_internal.hold_corpus_alone(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from ragdb.corpora c where c.corpus_id = hold_corpus_alone.corpus_id for update;
end $$;

-- Keeps a corpus from being dropped until the transaction ends. What is stored under a corpus
-- beside its documents waits for a drop of it, and for no writer. Who holds it so waits for no lock
-- of the corpus after that: a drop has the lock, and waits for him. Raises RG404.
create or replace function ragdb_internal.hold_corpus(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from ragdb.corpora c where c.corpus_id = hold_corpus.corpus_id for key share;
  if not found then
    raise exception 'the corpus does not exist'
      using errcode = 'RG404', detail = 'it was dropped a moment ago',
        hint = 'ragdb.list_corpora() lists the names';
  end if;
end $$;
