-- Corpora that are shared: which feed each is, and which peers have it too.

-- Refuses to share a corpus that is never shared or that moves, or by a key that is not one of this
-- database's own. Raises RG400, RG409, RG457.
create or replace function ragdb_internal.check_shareable(corpus ragdb.corpora, author bytea)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus.name in ('personal', 'system') then
    raise exception 'corpus % is never shared', ragdb_internal.quote(corpus.name)
      using errcode = 'RG400', detail = 'it belongs to one role, or comes with ragdb',
        hint = 'put what you want to share into another corpus';
  end if;
  if corpus.moving is not null then
    perform ragdb_internal.refuse_move(
      format('corpus %s moves to another database', ragdb_internal.quote(corpus.name)),
      'its peers would look for its events here',
      'share it when it has arrived, or give the move up with ragdb.leave_move()');
  end if;
  if author is not null then
    perform ragdb_internal.check_public_key(author);
  end if;
  if exists (select from ragdb.peers p where p.public_key = author) then
    raise exception 'the public key is a peer''s'
      using errcode = 'RG409', detail = 'each database signs with a key of its own',
        hint = 'make one: ragdb peer key FILE --new';
  end if;
end $$;

create or replace function ragdb.share_corpus(corpus text, author bytea default null,
  feed uuid default null)
returns uuid
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(share_corpus.corpus, 'admin');
  v_feed uuid;
begin
  -- who begins to move it waits, or has begun, and is told of this one by the row that is written
  update ragdb.corpora c set version = c.version where c.corpus_id = v_corpus.corpus_id;
  perform ragdb_internal.check_shareable(ragdb_internal.open_again(v_corpus, 'admin'), author);
  insert into ragdb.shared_corpora as s (corpus_id, feed, author, shared_by, shared_at)
    values (v_corpus.corpus_id, coalesce(share_corpus.feed, gen_random_uuid()),
      share_corpus.author, ragdb_internal.caller(), ragdb_internal.now())
    on conflict (corpus_id) do update set author = coalesce(excluded.author, s.author)
    returning s.feed into v_feed;
  if v_feed <> share_corpus.feed then
    raise exception 'corpus % is shared as another feed', ragdb_internal.quote(corpus)
      using errcode = 'RG409', detail = 'it is feed ' || v_feed,
        hint = 'take the events of the other feed into another corpus';
  end if;
  return v_feed;
exception when unique_violation then
  raise exception 'another corpus is shared as feed %', share_corpus.feed
    using errcode = 'RG409', detail = 'a feed is one corpus in a database',
      hint = 'ragdb.list_peer_corpora() lists them';
end $$;
comment on function ragdb.share_corpus is
  'Shares a corpus with the peers that may read it, and returns its feed: what it is at every '
  'peer. With a feed it joins that one. The author is the public key (32 bytes) that signs the '
  'changes that are made here; null leaves it. Raises RG400, RG401, RG404, RG409, RG457.';

create or replace function ragdb.unshare_corpus(corpus text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.shared_corpora s
    where s.corpus_id = (ragdb_internal.open_corpus(unshare_corpus.corpus, 'admin')).corpus_id;
end $$;
comment on function ragdb.unshare_corpus is
  'Ends the sharing of a corpus and forgets its signed events and conflicts. Its documents stay. '
  'Raises RG400, RG401, RG404.';

-- Returns how a corpus is shared. Raises RG491.
create or replace function ragdb_internal.shared_corpus(corpus ragdb.corpora)
returns ragdb.shared_corpora
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_shared ragdb.shared_corpora;
begin
  select s.* into v_shared from ragdb.shared_corpora s
    where s.corpus_id = (shared_corpus.corpus).corpus_id;
  if not found then
    raise exception 'corpus % is not shared', ragdb_internal.quote((shared_corpus.corpus).name)
      using errcode = 'RG491', detail = 'corpora are not shared unless somebody shares them',
        hint = 'an admin can call ragdb.share_corpus()';
  end if;
  return v_shared;
end $$;

-- Returns how a corpus is shared, and keeps it shared until the transaction ends. Raises RG491.
create or replace function ragdb_internal.hold_feed(corpus ragdb.corpora)
returns ragdb.shared_corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from ragdb.shared_corpora s
    where s.corpus_id = (hold_feed.corpus).corpus_id for key share;
  return ragdb_internal.shared_corpus(hold_feed.corpus);
end $$;

-- A definer, like all that reads tables.
create or replace function ragdb.shared_feed(corpus text)
returns table (feed uuid, author text, "position" bigint, lamport bigint, settings jsonb)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(shared_feed.corpus, 'read');
  v_shared constant ragdb.shared_corpora := ragdb_internal.shared_corpus(v_corpus);
begin
  return query select v_shared.feed, encode(v_shared.author, 'hex'), v_shared.last_position,
    v_shared.lamport, ragdb_internal.exported_settings(v_corpus);
end $$;
comment on function ragdb.shared_feed is
  'Returns as what feed a corpus is shared, by which key (hex), how many events it has, its '
  'Lamport time, and the settings that a copy of it needs. Raises RG400, RG404, RG491.';

create or replace function ragdb.follow_peer(corpus text, peer text, remote text default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(follow_peer.corpus, 'admin');
  v_shared constant ragdb.shared_corpora := ragdb_internal.hold_feed(v_corpus);
  v_peer constant ragdb.peers := ragdb_internal.hold_peer(follow_peer.peer);
begin
  insert into ragdb.peer_corpora as p (corpus_id, peer, remote)
    values (v_shared.corpus_id, v_peer.name,
      coalesce(follow_peer.remote, follow_peer.corpus))
    on conflict on constraint peer_corpora_are_unique do update
      set remote = coalesce(follow_peer.remote, p.remote);
end $$;
comment on function ragdb.follow_peer is
  'Notes that a peer has a shared corpus too, and under which name (null: the same). Raises RG400, '
  'RG401, RG404, RG490, RG491.';

create or replace function ragdb.list_peer_corpora(corpus text default null)
returns table (corpus text, feed uuid, peer text, remote text, trust text, url text,
  is_revoked boolean, "position" bigint, pulled_at timestamptz, shared_by text,
  shared_at timestamptz)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select c.name, s.feed, f.peer, f.remote, p.trust, p.url, p.revoked_at is not null,
    f."position", f.pulled_at, s.shared_by, s.shared_at
  from ragdb.shared_corpora s
    join ragdb.corpora c on c.corpus_id = s.corpus_id
    left join ragdb.peer_corpora f on f.corpus_id = s.corpus_id
    left join ragdb.peers p on p.name = f.peer
  where (list_peer_corpora.corpus is null or c.name = list_peer_corpora.corpus)
    and ragdb_internal.privilege(c) > 0
  order by c.name, f.peer;
end;
comment on function ragdb.list_peer_corpora is
  'Lists the shared corpora that the caller may read (null: all), each with the peers that have '
  'it: its name there, the trust and URL of the peer, how far it was read, and who shared the '
  'corpus here and when.';
