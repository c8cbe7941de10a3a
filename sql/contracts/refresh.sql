-- How fresh the sources of contracts are: `refresh` of a corpus says how old a reading of them may
-- be.

-- Definer: it writes a table that is granted to nobody.
create or replace function ragdb.record_reading(corpus text, source_name text, documents integer,
  failed integer default 0) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id integer := (ragdb_internal.open_corpus(record_reading.corpus, 'write')).corpus_id;
begin
  if source_name is null or length(source_name) not between 1 and 200
    or coalesce(documents < 0, true) or coalesce(failed < 0, true) then
    raise exception 'source_name, documents or failed cannot be meant'
      using errcode = 'RG400',
        detail = format('they are %s, %s and %s', ragdb_internal.quote(source_name),
          coalesce(documents::text, 'null'), coalesce(failed::text, 'null')),
        hint = 'a name has 1 to 200 characters; count from 0';
  end if;
  perform ragdb_internal.hold_corpus(v_id);
  insert into ragdb.source_readings as r (corpus_id, source_name, tried_at, read_at, documents,
    failed, read_by)
    values (v_id, record_reading.source_name, ragdb_internal.now(),
      case when record_reading.documents > 0 or record_reading.failed = 0
        then ragdb_internal.now() end,
      record_reading.documents, record_reading.failed, ragdb_internal.caller())
    on conflict on constraint source_readings_are_unique do update
      set tried_at = excluded.tried_at, read_at = coalesce(excluded.read_at, r.read_at),
        documents = excluded.documents, failed = excluded.failed, read_by = excluded.read_by;
end $$;
comment on function ragdb.record_reading is
  'Records that a source of a contract was read now: so many documents, those included that had '
  'not changed, and so many failures. A source of which nothing could be read stays as old as it '
  'was. Raises RG400, RG401, RG404.';

-- Returns the sources of the contracts in force whose corpus the caller may read, all or those that
-- are due, by their contracts: those that begin with a prefix and come after a name, at most so
-- many (null: all) and what else the last contract has.
create or replace function ragdb_internal.page_of_sources(
  only_due boolean, prefix text, after text, count integer)
returns table (contract text, corpus text, name text, kind text, uri text, resource text,
  refresh interval, read_at timestamptz, tried_at timestamptz, documents integer, failed integer,
  is_due boolean)
language sql stable parallel safe
begin atomic
  select d.*
  from (
    select s.*,
      s.read_at is null or coalesce(s.read_at + s.refresh <= ragdb_internal.now(), false) as is_due
    from (
      select k.contract, n.corpus, n.name, coalesce(n.keys ->> 'kind', 'local') as kind,
        n.keys ->> 'uri' as uri, n.keys ->> 'resource' as resource,
        (o.keys ->> 'refresh')::interval as refresh, r.read_at, r.tried_at, r.documents, r.failed
      from ragdb.contracts k
        join ragdb.contract_nodes n on n.contract = k.contract and n.version = k.version
          and n.node = 'source'
        join ragdb.contract_nodes o on o.contract = k.contract and o.version = k.version
          and o.node = 'corpus' and o.corpus = n.corpus
        join ragdb_internal.corpora_to_read() c on c.name = n.corpus
        left join ragdb.source_readings r on r.corpus_id = c.corpus_id and r.source_name = n.name
      where k.is_current and k.contract > page_of_sources.after
        and pg_catalog.starts_with(k.contract, page_of_sources.prefix)
        and not ragdb_internal.is_others_contract(k.contract, k.version)) s) d
  where d.is_due or not page_of_sources.only_due
  order by d.contract fetch first (coalesce(page_of_sources.count, 2147483647)) rows with ties;
end;

-- Definer: contracts are granted to nobody; only corpora that the caller may read are listed.
create or replace function ragdb.list_sources(
  only_due boolean default false, prefix text default '', after text default '',
  count integer default null)
returns table (contract text, corpus text, name text, kind text, uri text, resource text,
  refresh interval, read_at timestamptz, tried_at timestamptz, documents integer, failed integer,
  is_due boolean)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform ragdb_internal.check_paged(prefix, after, 'contract'),
    ragdb_internal.check_listed(coalesce(count, 1), 'sources');
  return query
    select (p).* from ragdb_internal.page_of_sources(only_due, prefix, after, count) p
    order by p.contract collate "C", p.corpus collate "C", p.name collate "C";
end $$;
comment on function ragdb.list_sources is
  'Lists the sources of the contracts in force whose corpus the caller may read, all or those that '
  'are due: what is read from where, when it was last read, how old that may be (refresh; null: '
  'any age), and whether it is due. A source that was never read is due. They come by their '
  'contracts: those whose name begins with a prefix and comes after a given one, at most count '
  '(1 to 10000; null: all) and what else the last contract has. Raises RG400.';
