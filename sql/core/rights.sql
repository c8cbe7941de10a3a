-- Who may do what with a corpus: the caller's right to it, and the gate that every call passes.

-- Returns 1 for read, 2 for write, 3 for admin, each of which includes the ones before it; null for
-- what is not a privilege.
create or replace function ragdb_internal.privilege_level(privilege text) returns integer
language sql immutable parallel safe
return case privilege_level.privilege
  when 'read' then 1 when 'write' then 2 when 'admin' then 3 end;

-- Returns the name of a privilege by its level.
create or replace function ragdb_internal.privilege_name(level integer) returns text
language sql immutable parallel safe
return case privilege_name.level when 1 then 'read' when 2 then 'write' when 3 then 'admin' end;

-- Returns the corpus that a corpus is a part of, by whose statistics and under whose name it ranks;
-- itself where it is not a part.
create or replace function ragdb_internal.whole_of(corpus ragdb.corpora) returns ragdb.corpora
language sql stable parallel safe
return case when (corpus).part_of is null then corpus
  else (select w from ragdb.corpora w where w.corpus_id = (corpus).part_of) end;

-- Returns the version of a corpus, which every write to one of its parts raises too.
create or replace function ragdb_internal.version_of(corpus ragdb.corpora) returns bigint
language sql stable parallel safe
return case when (corpus).parts = 0 then (corpus).version
  else (corpus).version + (
    select coalesce(sum(p.version), 0)::bigint from ragdb.corpora p
    where p.part_of = (corpus).corpus_id) end;

-- Returns the corpus by whose embedder a corpus is searched: its first part, where it has parts.
-- Not in SQL: such a function starts a statement for a corpus without parts too.
create or replace function ragdb_internal.embedded_as(corpus ragdb.corpora) returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus.parts = 0 then
    return corpus.corpus_id;
  end if;
  return (select min(p.corpus_id) from ragdb.corpora p where p.part_of = corpus.corpus_id);
end $$;

-- Refuses a corpus that is made of parts. Raises RG438.
create or replace function ragdb_internal.check_has_no_parts(corpus ragdb.corpora) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus.parts > 0 then
    raise exception 'corpus % is made of parts', ragdb_internal.quote(corpus.name)
      using errcode = 'RG438', detail = 'what is asked for is done with one part at a time',
        hint = 'pass the name of a part: ragdb.list_parts() lists them, and a hit says its corpus';
  end if;
end $$;

-- Returns the caller's right to a corpus: 0 none, 1 read, 2 write, 3 admin. Decided once, at the
-- entry of a function (never per row). A part that is not restricted itself has the rights of its
-- whole. Its plan is kept also where the function that asks has its own made at each call: a list
-- of corpora asks for each.
create or replace function ragdb_internal.privilege(corpus ragdb.corpora) returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = auto
as $$
declare
  v_caller constant oid := ragdb_internal.caller_oid();
begin
  if v_caller is null or ragdb_internal.is_arriving(corpus) then
    return 0;
  elsif corpus.personal_of is not null then
    return case when ragdb_internal.is_caller(corpus.personal_of, corpus.personal_oid) then 3
      else 0 end;
  elsif pg_has_role(v_caller, 'ragdb_owner', 'usage') then
    return 3;
  elsif corpus.name = 'system' then
    return case when pg_has_role(v_caller, 'ragdb_reader', 'usage') then 1 else 0 end;
  elsif pg_has_role(v_caller, 'ragdb_admin', 'usage') then
    return 3;
  elsif not corpus.is_restricted then
    if corpus.part_of is not null then
      return ragdb_internal.privilege(ragdb_internal.whole_of(corpus));
    end if;
    return case when pg_has_role(v_caller, 'ragdb_writer', 'usage') then 2
      when pg_has_role(v_caller, 'ragdb_reader', 'usage') then 1
      else 0 end;
  end if;
  return coalesce((select max(ragdb_internal.privilege_level(g.privilege))
    from ragdb.corpus_grants g
    where g.corpus_id = corpus.corpus_id and ragdb_internal.is_role(g.role, g.role_oid)
      and pg_has_role(v_caller, g.role_oid, 'usage')), 0);
end $$;

-- Returns the corpus that the caller probably meant, of those that the caller may read; null for
-- none. A name that is off by much is meant for none.
create or replace function ragdb_internal.nearest_corpus(corpus text) returns text
language sql stable parallel safe
begin atomic
  select case when ragdb_internal.edit_distance(corpus, n.name)
      <= least(1 + length(corpus) / 3, length(corpus) / 2)
    then n.name end
  from ragdb_internal.nearest_name(nearest_corpus.corpus, array(
    select c.name from ragdb.corpora c
    where length(c.name) between length(nearest_corpus.corpus) - 2
        and length(nearest_corpus.corpus) + 2
      and ragdb_internal.privilege(c) > 0
    limit 1000)) n (name)
  where n.name is not null and length(nearest_corpus.corpus) <= 64;
end;

-- Returns what helps a caller who cannot see a corpus. An earlier role of the caller's name may
-- have had rights: after a restore on another server the same person, else a stranger. Which of the
-- two only the owner of the database can say.
create or replace function ragdb_internal.hint_of_missing_corpus(corpus text) returns text
language sql stable parallel safe
return case when exists (
    select from ragdb.corpus_grants g where g.role = ragdb_internal.caller()
      and not ragdb_internal.is_role(g.role, g.role_oid)
    union all
    select from ragdb.corpora c where c.personal_of = ragdb_internal.caller()
      and not ragdb_internal.is_role(c.personal_of, c.personal_oid))
  then pg_catalog.format('an earlier role %s had rights here; where it is the same, as after a '
    'restore, the owner of the database can call ragdb.bind_role()',
    ragdb_internal.quote(ragdb_internal.caller()))
  when pg_catalog.starts_with(corpus, '{')
  then 'functions that take several corpora take an array: corpora => ''{one,two}'''
  else coalesce('did you mean ' || ragdb_internal.nearest_corpus(corpus) || '? ', '')
    || 'ragdb.list_corpora() lists the names; ragdb.create_corpus() makes one' end;

-- Says that the caller, who has a right (0: none) to a corpus, lacks the one that a call takes. A
-- corpus that the caller may not read does not exist for them. Raises RG401, RG404.
create or replace function ragdb_internal.refuse_corpus(corpus text, privilege text, has integer)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if has = 0 then
    raise exception 'corpus % does not exist', ragdb_internal.quote(corpus)
      using errcode = 'RG404',
        detail = 'no corpus of that name is visible to role '
          || ragdb_internal.quote(ragdb_internal.caller()),
        hint = ragdb_internal.hint_of_missing_corpus(corpus);
  end if;
  raise exception 'role % has no % right to corpus %',
      ragdb_internal.quote(ragdb_internal.caller()), privilege, ragdb_internal.quote(corpus)
    using errcode = 'RG401',
      detail = 'its right is ' || ragdb_internal.privilege_name(has),
      hint = case when corpus = 'system'
        then 'the system corpus is read-only; use a corpus of your own'
        else 'an admin of the corpus can call ragdb.grant_corpus()' end;
end $$;

-- Refuses a corpus that is not there (it has a name alone), one to which the caller lacks a right,
-- and one that has moved or is made of parts where a call does not take those. One that is not
-- there is refused by the same lines, which an error tells its client. Raises RG401, RG404, RG438,
-- RG456.
create or replace function ragdb_internal.check_opened(
  corpus ragdb.corpora, privilege text, takes_parts boolean, takes_moved boolean)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_has constant integer := case when corpus.corpus_id is null then 0
    else ragdb_internal.privilege(corpus) end;
begin
  if v_has < ragdb_internal.privilege_level(privilege) then
    perform ragdb_internal.log_access('refused', corpus.name, privilege)
      where corpus.corpus_id is not null;
    perform ragdb_internal.refuse_corpus(corpus.name, privilege, v_has);
  end if;
  -- whoever sets this by hand reads what is left, as a replay does
  if corpus.moving = 'moved' and not takes_moved
    and (privilege = 'read' and current_setting('ragdb.as_recorded', true) = 'on') is not true
  then
    perform ragdb_internal.refuse_moved(corpus);
  end if;
  if corpus.parts > 0 and not takes_parts then
    perform ragdb_internal.check_has_no_parts(corpus);
  end if;
end $$;

-- Returns the row of a corpus that the caller has at least the given right to (read, write, admin),
-- and records the read where that is wanted; one that is made of parts, and one that has moved, is
-- refused unless the call takes those. The one gate to a corpus. Every call passes it, and to plan
-- its statement anew would take five times as long as to run it. Raises RG400, RG401, RG404, RG438,
-- RG456, RG470, RG471.
create or replace function ragdb_internal.open_corpus(
  corpus text, privilege text, takes_parts boolean default false,
  takes_moved boolean default false)
returns ragdb.corpora
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_corpus ragdb.corpora;
begin
  if corpus is null then
    raise exception 'corpus is null'
      using errcode = 'RG400', detail = 'every function of a corpus needs its name',
        hint = 'ragdb.list_corpora() lists the names';
  end if;
  select c.* into v_corpus from ragdb.corpora c
    where c.name = corpus
      and (corpus <> 'personal' or ragdb_internal.is_caller(c.personal_of, c.personal_oid));
  if not found then
    v_corpus.name := corpus;
  end if;
  perform ragdb_internal.check_opened(v_corpus, privilege, takes_parts, takes_moved);
  if v_corpus.parts > 0 then
    v_corpus.version := ragdb_internal.version_of(v_corpus);
  end if;
  if exists (select from ragdb.role_quotas q where q.concurrent_calls is not null) then
    perform ragdb_internal.take_call();
  end if;
  if v_corpus.record_reads <> 'off' and privilege = 'read' then
    perform ragdb_internal.record_read(v_corpus);
  end if;
  return v_corpus;
end $$;
