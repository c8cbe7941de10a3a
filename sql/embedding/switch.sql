-- The embedder that a corpus is searched by: the first one, a change without downtime, and back.

-- Derives all turns of a corpus anew, because other embeddings are the current ones; the caller
-- holds the corpus lock.
create or replace function ragdb_internal.derive_sessions(corpus_id integer) returns void
language sql
return ragdb_internal.derive_turns(derive_sessions.corpus_id, array(
  select distinct t.session_id from ragdb.turns t
  where t.corpus_id = derive_sessions.corpus_id));

-- Embeds all chunks of a new space where the embedder is static, and wakes the workers for any
-- other; the caller holds the corpus lock.
create or replace function ragdb_internal.fill_space(
  corpus ragdb.corpora, space ragdb.embedding_spaces)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- an import brings its embeddings along
  if corpus.import_xid is distinct from pg_current_xact_id() then
    perform ragdb_internal.fill_static(space);
    if space.state = 'current' then
      perform ragdb_internal.derive_sessions(corpus.corpus_id);
    end if;
  end if;
  perform ragdb_internal.notify('ragdb_embeddings');
end $$;

create or replace function ragdb.embed_corpus(
  corpus text, embedder text default null, m integer default 16,
  ef_construction integer default 128)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb_internal.embedder_or_default(embedder);
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(embed_corpus.corpus, 'write');
  v_space ragdb.embedding_spaces := ragdb_internal.space(v_corpus.corpus_id, 'current');
begin
  if v_space.space_id is null then
    v_corpus := ragdb_internal.lock_corpus(embed_corpus.corpus, 'write');
    v_space := ragdb_internal.space(v_corpus.corpus_id, 'current');
  end if;
  if v_space.embedder_id <> v_embedder.embedder_id and v_corpus.chunks = 0 then
    -- the default that it was made with, of which nothing has come yet
    v_corpus := ragdb_internal.lock_corpus(embed_corpus.corpus, 'write');
    if v_corpus.chunks = 0 then
      perform ragdb_internal.remove_spaces(v_corpus.corpus_id);
      v_space := null;
    end if;
  end if;
  if v_space.space_id is null then
    -- one that was begun beside no other is there already
    update ragdb.embedding_spaces s
      set state = 'current', current_since = ragdb_internal.now(), queued_to = 0
      where s.corpus_id = v_corpus.corpus_id and s.embedder_id = v_embedder.embedder_id
      returning s.* into v_space;
    if not found then
      v_space := ragdb_internal.make_space(
        v_corpus.corpus_id, v_embedder, 'current', m, ef_construction);
    end if;
    perform ragdb_internal.fill_space(v_corpus, v_space);
  elsif v_space.embedder_id <> v_embedder.embedder_id then
    raise exception 'corpus % is not embedded by %',
        ragdb_internal.quote(corpus), ragdb_internal.quote(v_embedder.name)
      using errcode = 'RG417',
            detail = 'it is embedded by ' || (select ragdb_internal.quote(e.name)
              from ragdb.embedders e where e.embedder_id = v_space.embedder_id),
            hint = format('ragdb reembed %s --model %s changes the model without downtime',
              corpus, v_embedder.name);
  end if;
  return v_space.space_id;
end $$;
comment on function ragdb.embed_corpus is
  'Has a corpus embedded by an embedder (null: the default one) from now on, and returns its '
  'space; once it is, by no other. m 2 to 100, ef_construction 2 m to 1000. Raises RG400, RG401, '
  'RG404, RG416, RG417.';

create or replace function ragdb.reembed_corpus(
  corpus text, embedder text, m integer default 16, ef_construction integer default 128)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb_internal.embedder(embedder);
  v_corpus ragdb.corpora := ragdb_internal.lock_corpus(reembed_corpus.corpus, 'admin');
  v_space ragdb.embedding_spaces;
begin
  select s.* into v_space from ragdb.embedding_spaces s
    where s.corpus_id = v_corpus.corpus_id and s.embedder_id = v_embedder.embedder_id;
  if found and v_space.state = 'current' then
    raise exception 'corpus % is embedded by % already',
        ragdb_internal.quote(corpus), ragdb_internal.quote(embedder)
      using errcode = 'RG409', detail = 'its space is current', hint = 'name another embedder';
  elsif found then
    update ragdb.embedding_spaces s set state = 'building', queued_to = 0
      where s.space_id = v_space.space_id;
  else
    v_space := ragdb_internal.make_space(
      v_corpus.corpus_id, v_embedder, 'building', m, ef_construction);
  end if;
  perform ragdb_internal.fill_space(v_corpus, v_space);
  return v_space.space_id;
end $$;
comment on function ragdb.reembed_corpus is
  'Starts, or takes up again, a second space of a corpus under another embedder, beside the '
  'current one, and returns it; workers fill it. Raises RG400, RG401, RG404, RG409, RG416.';

create or replace function ragdb.cutover_corpus(
  corpus text, embedder text, force boolean default false)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb_internal.embedder(embedder);
  v_corpus ragdb.corpora := ragdb_internal.lock_corpus(cutover_corpus.corpus, 'admin');
  v_space ragdb.embedding_spaces;
  v_missing bigint;
begin
  select s.* into v_space from ragdb.embedding_spaces s
    where s.corpus_id = v_corpus.corpus_id and s.embedder_id = v_embedder.embedder_id
      and s.state <> 'current';
  if not found then
    raise exception 'corpus % has no second space of embedder %',
        ragdb_internal.quote(corpus), ragdb_internal.quote(embedder)
      using errcode = 'RG409', detail = 'the space is current already, or was never started',
            hint = 'ragdb.reembed_corpus() starts one';
  end if;
  perform ragdb_internal.fill_static(v_space);
  v_missing := ragdb_internal.missing_embeddings(v_space);
  if v_missing > 0 and not coalesce(force, false) then
    raise exception 'the space of embedder % lacks % of %',
        ragdb_internal.quote(embedder), v_missing,
        ragdb_internal.counted(v_corpus.chunks, 'chunk')
      using errcode = 'RG409', detail = 'after the change those would not be found by meaning',
            hint = 'let a worker finish, see ragdb.embedding_status(), or pass force => true';
  end if;
  update ragdb.embedding_spaces s set state = 'retired'
    where s.corpus_id = v_corpus.corpus_id and s.state = 'current';
  update ragdb.embedding_spaces s set state = 'current', current_since = ragdb_internal.now(),
      is_filled = true,
      queued_to = case when v_missing > 0 then 0 else s.queued_to end
    where s.space_id = v_space.space_id;
  -- what follows from the embeddings of turns follows from the current ones
  perform ragdb_internal.derive_sessions(v_corpus.corpus_id);
  perform ragdb_internal.notify('ragdb_embeddings');
  return v_space.space_id;
end $$;
comment on function ragdb.cutover_corpus is
  'Makes the second space of a corpus the current one, in one transaction, and keeps the other for '
  'a rollback; refused while chunks are missing unless forced. Raises RG400, RG401, RG404, RG409, '
  'RG416.';

create or replace function ragdb.rollback_corpus(corpus text) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.lock_corpus(rollback_corpus.corpus, 'admin');
  v_space ragdb.embedding_spaces := ragdb_internal.space(v_corpus.corpus_id, 'retired');
  v_embedder text;
begin
  if v_space.space_id is null then
    raise exception 'corpus % has no retired space', ragdb_internal.quote(corpus)
      using errcode = 'RG409', detail = 'there is nothing to go back to',
            hint = 'ragdb.embedding_status() lists the spaces';
  end if;
  select e.name into strict v_embedder from ragdb.embedders e
    where e.embedder_id = v_space.embedder_id;
  perform ragdb.cutover_corpus(corpus, v_embedder, force => true);
  return v_embedder;
end $$;
comment on function ragdb.rollback_corpus is
  'Makes the space that was current before current again, and returns its embedder; chunks that '
  'came since are queued for it. Raises RG400, RG401, RG404, RG409.';

-- Returns the space of a corpus that an embedder fills. Raises RG416.
create or replace function ragdb_internal.space_of_embedder(
  corpus ragdb.corpora, embedder ragdb.embedders)
returns ragdb.embedding_spaces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces;
begin
  select s.* into v_space from ragdb.embedding_spaces s
    where s.corpus_id = corpus.corpus_id and s.embedder_id = embedder.embedder_id;
  if not found then
    raise exception 'corpus % has no space of embedder %', ragdb_internal.quote(corpus.name),
        ragdb_internal.quote(embedder.name)
      using errcode = 'RG416', detail = 'it was never embedded by it, or the space was dropped',
        hint = 'ragdb.embedding_status() lists the spaces; ragdb.reembed_corpus() starts one';
  end if;
  return v_space;
end $$;

create or replace function ragdb.drop_space(corpus text, embedder text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder constant ragdb.embedders := ragdb_internal.embedder(embedder);
  -- by itself: the statement that waits still sees a space that another has dropped meanwhile
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(drop_space.corpus, 'admin');
  v_space constant ragdb.embedding_spaces :=
    ragdb_internal.space_of_embedder(v_corpus, v_embedder);
begin
  perform ragdb_internal.remove_space(v_space);
  if v_space.state = 'current' then
    perform ragdb_internal.derive_sessions(v_corpus.corpus_id);
  end if;
end $$;
comment on function ragdb.drop_space is
  'Drops the space of a corpus under an embedder with all its embeddings. Raises RG400, RG401, '
  'RG404, RG416.';
