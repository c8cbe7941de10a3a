-- What PostgreSQL and pgvector do themselves, of which all that ragdb does is made, and what was
-- put beside their functions.

-- Returns what PostgreSQL calls, with an oid below 12000, which is the same wherever this version
-- of it is built: functions, operators, casts, types, aggregates and what indexes compare by. In
-- the order of an index: to sort all takes longer than to read it.
create or replace function ragdb_internal.postgresql_calls()
returns table (kind text, "rows" text)
language sql stable parallel safe
begin atomic
  select 'functions', pg_catalog.string_agg(pg_catalog.concat_ws(' ', p.oid, p.prolang, p.prosrc,
      p.probin, p.prosqlbody, p.proconfig, p.proisstrict, p.provolatile, p.prosupport::oid,
      p.prosecdef), ',' order by p.oid)
    from pg_catalog.pg_proc p
    where p.pronamespace = 'pg_catalog'::regnamespace and p.oid < 12000
  union all
  select 'operators', pg_catalog.string_agg(pg_catalog.concat_ws(' ', o.oid, o.oprname, o.oprleft,
      o.oprright, o.oprcode::oid, o.oprcom, o.oprnegate, o.oprcanhash, o.oprcanmerge), ','
      order by o.oid)
    from pg_catalog.pg_operator o where o.oid < 12000
  union all
  select 'casts', pg_catalog.string_agg(k::text, ',' order by k.oid)
    from pg_catalog.pg_cast k where k.oid < 12000
  union all
  select 'types', pg_catalog.string_agg(pg_catalog.concat_ws(' ', t.oid, t.typname, t.typlen,
      t.typbyval, t.typtype, t.typelem, t.typarray, t.typinput::oid, t.typoutput::oid,
      t.typreceive::oid, t.typsend::oid, t.typmodin::oid, t.typbasetype, t.typcollation), ','
      order by t.oid)
    from pg_catalog.pg_type t where t.oid < 12000
  union all
  select 'aggregates', pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.aggfnoid::oid,
      a.aggtransfn::oid, a.aggfinalfn::oid, a.aggcombinefn::oid, a.aggserialfn::oid,
      a.aggdeserialfn::oid, a.aggmtransfn::oid, a.aggminvtransfn::oid, a.aggmfinalfn::oid,
      a.aggsortop, a.agginitval), ',' order by a.aggfnoid)
    from pg_catalog.pg_aggregate a where a.aggfnoid < 12000
  union all
  select 'operator classes', pg_catalog.concat_ws(',',
      (select pg_catalog.string_agg(o::text, ',' order by o.oid)
        from pg_catalog.pg_opclass o where o.oid < 12000),
      (select pg_catalog.string_agg(o::text, ',' order by o.oid)
        from pg_catalog.pg_amop o where o.oid < 12000),
      (select pg_catalog.string_agg(pg_catalog.concat_ws(' ', p.oid, p.amprocfamily,
          p.amproclefttype, p.amprocrighttype, p.amprocnum, p.amproc::oid), ',' order by p.oid)
        from pg_catalog.pg_amproc p where p.oid < 12000));
end;

-- Returns what initdb makes and PostgreSQL calls, whose oids differ between machines, as by their
-- number of locales: how words are stemmed, what languages call, and the view by which roles are
-- verified.
create or replace function ragdb_internal.initdb_calls()
returns table (kind text, "row" text)
language sql stable parallel safe
begin atomic
  select 'text search', pg_catalog.concat_ws(' ', m.mapcfg::regconfig, c.cfgparser, m.maptokentype,
      m.mapseqno, m.mapdict::regdictionary)
    from pg_catalog.pg_ts_config_map m join pg_catalog.pg_ts_config c on c.oid = m.mapcfg
    where m.mapcfg < 16384
  union all
  select 'text search', pg_catalog.concat_ws(' ', d.oid::regdictionary, t.tmplname, t.tmplinit,
      t.tmpllexize, d.dictinitoption)
    from pg_catalog.pg_ts_dict d join pg_catalog.pg_ts_template t on t.oid = d.dicttemplate
    where d.oid < 16384
  union all
  select 'text search', pg_catalog.concat_ws(' ', p.prsname, p.prsstart, p.prstoken, p.prsend,
      p.prslextype)
    from pg_catalog.pg_ts_parser p where p.oid < 16384
  union all
  select 'languages', pg_catalog.concat_ws(' ', l.lanname, l.lanpltrusted,
      l.lanplcallfoid::regprocedure, l.laninline::regprocedure, l.lanvalidator::regprocedure)
    from pg_catalog.pg_language l where l.oid < 16384
  union all
  select 'languages', pg_catalog.concat_ws(' ', p.oid::regprocedure, p.prolang, p.prosrc, p.probin,
      p.proconfig, p.proisstrict, p.provolatile, p.prosecdef)
    from pg_catalog.pg_proc p
    where p.pronamespace = 'pg_catalog'::regnamespace and p.oid between 12000 and 16383
  union all
  select 'views', pg_catalog.pg_get_viewdef('pg_catalog.pg_roles'::regclass);
end;

-- Returns what pgvector does, by names, as a copy has it too.
create or replace function ragdb_internal.pgvector_calls() returns table ("row" text)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  with made as materialized (
    select d.classid, d.objid
      from pg_catalog.pg_depend d join pg_catalog.pg_extension e on e.oid = d.refobjid
      where d.refclassid = 'pg_catalog.pg_extension'::regclass and d.deptype = 'e'
        and e.extname = 'vector')
  select pg_catalog.concat_ws(' ', p.oid::regprocedure, p.prolang, p.prosrc, p.probin,
      p.proconfig, p.proisstrict, p.provolatile, p.prosecdef)
    from made m join pg_catalog.pg_proc p on p.oid = m.objid
    where m.classid = 'pg_catalog.pg_proc'::regclass
  union all
  select pg_catalog.concat_ws(' ', o.oid::regoperator, o.oprcode::oid::regprocedure)
    from made m join pg_catalog.pg_operator o on o.oid = m.objid
    where m.classid = 'pg_catalog.pg_operator'::regclass
  union all
  select pg_catalog.concat_ws(' ', k.castsource::regtype, k.casttarget::regtype,
      k.castfunc::regprocedure, k.castcontext, k.castmethod)
    from made m join pg_catalog.pg_cast k on k.oid = m.objid
    where m.classid = 'pg_catalog.pg_cast'::regclass
  union all
  select pg_catalog.concat_ws(' ', f.opfname, c.amprocnum, c.amproc::oid::regprocedure)
    from made m join pg_catalog.pg_opfamily f on f.oid = m.objid
      join pg_catalog.pg_amproc c on c.amprocfamily = f.oid
    where m.classid = 'pg_catalog.pg_opfamily'::regclass
  union all
  select pg_catalog.concat_ws(' ', t.oid::regtype, t.typinput::oid::regprocedure,
      t.typoutput::oid::regprocedure, t.typsend::oid::regprocedure)
    from made m join pg_catalog.pg_type t on t.oid = m.objid
    where m.classid = 'pg_catalog.pg_type'::regclass;
end;

-- Returns the types by whose casts ragdb reads and writes: those of PostgreSQL, of pgvector and of
-- its own.
create or replace function ragdb_internal.is_cast_by_us(type oid) returns boolean
language sql stable parallel safe
return is_cast_by_us.type < 16384 or exists (
  select from pg_catalog.pg_type t
  where t.oid = is_cast_by_us.type and (
    t.typnamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
    or exists (
      select from pg_catalog.pg_depend d
        join pg_catalog.pg_extension e on e.oid = d.refobjid and e.extname = 'vector'
      where d.classid = 'pg_catalog.pg_type'::regclass and d.objid = t.oid
        and d.deptype = 'e')));

-- Returns the functions, operators and casts that were put beside those of PostgreSQL and are not
-- of an extension: functions of ragdb look names up there first. The one extension that initdb
-- makes puts nothing there.
create or replace function ragdb_internal.present_beside()
returns table (kind text, identity text, hash bytea)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  select a.kind, a.identity, ''::bytea
    from (
      select 'function', p.oid::regprocedure::text, 'pg_catalog.pg_proc'::regclass, p.oid
        from pg_catalog.pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace
      union all
      select 'operator', o.oid::regoperator::text, 'pg_catalog.pg_operator'::regclass, o.oid
        from pg_catalog.pg_operator o where o.oprnamespace = 'pg_catalog'::regnamespace
      union all
      select 'cast', pg_catalog.concat_ws(' ', k.castsource::regtype, 'as', k.casttarget::regtype),
          'pg_catalog.pg_cast'::regclass, k.oid
        from pg_catalog.pg_cast k
        where k.oid >= 16384 and ragdb_internal.is_cast_by_us(k.castsource)
          and ragdb_internal.is_cast_by_us(k.casttarget)
      ) a (kind, identity, class, oid)
    where a.oid >= 16384 and not exists (
      select from pg_catalog.pg_depend d
      where d.classid = a.class and d.objid = a.oid and d.deptype = 'e' and d.refobjid >= 16384);
end;

-- Returns what PostgreSQL and pgvector do, one row for each kind, and what was put beside it.
create or replace function ragdb_internal.present_builtins()
returns table (kind text, identity text, hash bytea)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  select c.kind, 'of PostgreSQL', pg_catalog.sha256(ragdb_internal.utf8(c."rows"))
    from ragdb_internal.postgresql_calls() c
  union all
  select c.kind, 'of PostgreSQL', pg_catalog.sha256(ragdb_internal.utf8(
      pg_catalog.string_agg(c."row", ',' order by c."row" collate "C")))
    from ragdb_internal.initdb_calls() c group by c.kind
  union all
  select 'extension', 'vector ' || ragdb_internal.pgvector_version(), pg_catalog.sha256(
      ragdb_internal.utf8(pg_catalog.string_agg(c."row", ',' order by c."row" collate "C")))
    from ragdb_internal.pgvector_calls() c
  union all
  select * from ragdb_internal.present_beside();
end;
