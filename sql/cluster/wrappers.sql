-- The wrappers of schema ragdb_at: one for each public function, with its arguments, defaults,
-- rows and grants, made from the catalogue. A wrapper runs at the router as its caller, finds the
-- node and calls the function there.

-- Lists the columns of what a public function returns; a value alone is column the_value.
create or replace function ragdb_internal.router_columns(routine oid)
returns table (place bigint, name text, type text)
language sql stable parallel safe
begin atomic
  select a.attnum, a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod)
    from pg_catalog.pg_proc p
      join pg_catalog.pg_type t on t.oid = p.prorettype
      join pg_catalog.pg_attribute a on a.attrelid = t.typrelid and a.attnum > 0
    where p.oid = router_columns.routine and not a.attisdropped
  union all
  select x.n, p.proargnames[x.n], pg_catalog.format_type(x.type, null)
    from pg_catalog.pg_proc p
      cross join lateral pg_catalog.unnest(p.proallargtypes) with ordinality x (type, n)
    where p.oid = router_columns.routine and p.proargmodes[x.n] in ('o', 't')
  union all
  select 1, 'the_value', case p.prorettype when 'pg_catalog.void'::regtype then 'text'
      else pg_catalog.format_type(p.prorettype, null) end
    from pg_catalog.pg_proc p join pg_catalog.pg_type t on t.oid = p.prorettype
    where p.oid = router_columns.routine and t.typrelid = 0 and p.prorettype <> 'record'::regtype;
end;

-- A public function with what its wrapper is made of. Each of these but the oid is SQL, or a part
-- of it.
create type ragdb_internal.routed as (
  routine oid, name text, route text, detail text, kind text, arguments text, result text,
  call text, texts text, columns text, asks text, itself text);

-- Returns what a node is asked for: columns of a public function, whose arguments are elements of
-- an array of texts. The number of a space is one node's, so beyond it the number of the node
-- stands before it.
create or replace function ragdb_internal.router_call(routine oid) returns text
language sql stable parallel safe
return (select pg_catalog.format('%s from ragdb.%I(%s) t',
    case when p.prorettype = 'pg_catalog.void'::regtype then 'null::text'
      else (select pg_catalog.string_agg(
          case c.name when 'space_id' then 't.space_id + $2 * 10000000'
            when 'the_value' then 't' else 't.' || pg_catalog.quote_ident(c.name) end,
          ', ' order by c.place)
        from ragdb_internal.router_columns(router_call.routine) c) end,
    p.proname, coalesce((
      select pg_catalog.string_agg(pg_catalog.format(
          case p.proargnames[a.n] when 'space_id' then '($1)[%s]::%s %% 10000000'
            else '($1)[%s]::%s' end, a.n, pg_catalog.format_type(a.type, null)), ', ' order by a.n)
      from pg_catalog.unnest(p.proargtypes::oid[]) with ordinality a (type, n)), ''))
  from pg_catalog.pg_proc p where p.oid = router_call.routine);

-- Returns the expression of a wrapper for the nodes that are asked, in order.
create or replace function ragdb_internal.router_asks(route text, detail text, corpus text)
returns text
language sql immutable parallel safe
return case router_asks.route
  when 'corpus' then pg_catalog.format('array[%s]', router_asks.detail)
  when 'space' then 'array[$1 / 10000000]'
  when 'last' then 'array[ragdb_at.last_node()]'
  else pg_catalog.format(case when router_asks.corpus is null then 'ragdb_at.nodes(%2$L)'
      else 'case when %1$I is null then ragdb_at.nodes(%2$L)'
        ' else array[ragdb_at.node_of(%1$I)] end' end,
    router_asks.corpus, router_asks.route = 'some') end;

-- Returns the statements by which a wrapper asks one node; kind is set, void or value. What one
-- node is asked, and when no other is.
create or replace function ragdb_internal.router_step(route text, kind text) returns text
language sql immutable parallel safe
return case router_step.kind
  when 'set' then 'return query execute ragdb_at.call(v_node, v_call, v_arguments, v_columns);'
    || case when router_step.route in ('some', 'find') then ' if found then return; end if;'
      else '' end
  when 'void' then 'execute ragdb_at.call(v_node, v_call, v_arguments, v_columns);'
    || case router_step.route when 'find' then ' return;' else '' end
  else 'execute ragdb_at.call(v_node, v_call, v_arguments, v_columns) into v_found;'
    || case when router_step.route = 'each' then ' v_sum := coalesce(v_sum, 0) + v_found;'
      when router_step.route = 'find' then ' if v_found is not null then return v_found; end if;'
      else '' end
  end;

-- Lists the public functions, and the procedures that are refused, with what their wrappers are
-- made of.
create or replace function ragdb_internal.routed_functions()
returns setof ragdb_internal.routed
language sql stable parallel safe
begin atomic
  select r.routine, r.name, r.route, r.detail,
    case when p.proretset then 'set'
      when p.prorettype = 'void'::regtype or p.prokind = 'p' then 'void' else 'value' end,
    pg_catalog.pg_get_function_arguments(r.routine),
    -- PL/pgSQL has no argument and column of one name, so these rows get a type
    case when p.proargnames[:p.pronargs] && p.proargnames[p.pronargs + 1:]
      then pg_catalog.format('setof ragdb_at.%I', r.name || '_row')
      else pg_catalog.pg_get_function_result(r.routine) end,
    ragdb_internal.router_call(r.routine),
    (select pg_catalog.string_agg(case
        when r.route = 'each' and r.detail is not null and p.proargnames[n] = 'count' then 'null'
        else pg_catalog.format('$%s::text', n) end, ', ' order by n)
      from pg_catalog.generate_series(1, p.pronargs) n),
    (select pg_catalog.string_agg(pg_catalog.quote_ident(c.name) || ' ' || c.type, ', '
        order by c.place) from ragdb_internal.router_columns(r.routine) c),
    ragdb_internal.router_asks(r.route, r.detail, (select a.name
      from pg_catalog.unnest(p.proargnames) with ordinality a (name, n)
      where a.name in ('corpus', 'only_corpus') and a.n <= p.pronargs)),
    pg_catalog.format('ragdb.%I(%s)', r.name, (
      select pg_catalog.string_agg('$' || n, ', ' order by n)
      from pg_catalog.generate_series(1, p.pronargs) n))
  from ragdb_internal.routes() r join pg_catalog.pg_proc p on p.oid = r.routine
  where p.prokind = 'f' or r.route = 'refused';
end;

-- Returns the statements of a wrapper.
create or replace function ragdb_internal.router_body(routine ragdb_internal.routed)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_step constant text := ragdb_internal.router_step(routine.route, routine.kind);
  v_itself constant text := case routine.kind when 'set' then 'return query select * from '
    when 'void' then 'perform ' else 'return ' end || routine.itself || ';';
begin
  if routine.route = 'refused' then
    return format('perform ragdb_at.refuse(%L, %L);', routine.name, routine.detail)
      || case routine.kind when 'value' then ' return null;' else ' return;' end;
  elsif routine.route = 'here' then
    return v_itself;
  elsif routine.route in ('sum', 'latest')
    or routine.route = 'each' and routine.detail is not null
  then
    return format('return query select %s from unnest(v_nodes) n (node) cross join lateral '
      'ragdb_at.rows_of(ragdb_at.call(n.node, v_call, v_arguments, v_columns)) as t(%s)%s;',
      case when routine.route <> 'sum' then 't.*' else (
        select string_agg(format('sum(t.%I)::%s', c.name, c.type), ', ' order by c.place)
        from ragdb_internal.router_columns(routine.routine) c) end, routine.columns,
      case routine.route when 'sum' then '' when 'each' then ' where ' else ' order by ' end
        || coalesce(routine.detail, ''));
  end if;
  return format(E'foreach v_node in array v_nodes loop\n%s\nend loop;\n%s',
    case routine.route
      when 'find' then format(E'begin %s v_answers := v_answers + 1;\nexception when others then\n'
        'if sqlstate <> all (%L::text[])\n'
        'or v_answers = 0 and v_node = v_nodes[cardinality(v_nodes)] then raise; end if;\nend;',
        v_step, array(select e.sqlstate from ragdb.error_codes() e where e.http_status = 404))
      else v_step end,
    case when routine.route = 'all' then v_itself
      when routine.kind <> 'value' then ''
      when routine.route = 'each' then 'return v_sum;' else 'return v_found;' end);
end $$;

-- Returns the statement that makes the wrapper of a public function.
create or replace function ragdb_internal.router_wrapper(routine ragdb_internal.routed)
returns text
language sql stable parallel safe
return pg_catalog.format(
  E'create %s ragdb_at.%I(%s) %s language plpgsql\n'
  'set search_path = pg_catalog, pg_temp set datestyle = ''ISO, YMD'''
  ' set intervalstyle = postgres set extra_float_digits = 1\n'
  'as $wrapper$\n#variable_conflict use_variable\ndeclare\n'
  '  v_call constant text := %L;\n  v_arguments constant text[] := array[%s]::text[];\n'
  '  v_columns constant text := %L;\n  v_nodes constant integer[] := %s;\n'
  '  v_node integer;\n  v_answers integer := 0;\n%sbegin\n%s\nend $wrapper$',
  case when (routine).result is null then 'procedure' else 'function' end,
  (routine).name, (routine).arguments, 'returns ' || (routine).result, (routine).call,
  (routine).texts, (routine).columns, case when (routine).route in ('here', 'refused') then 'null'
    else (routine).asks end,
  case when (routine).kind = 'value' then pg_catalog.format(
    E'  v_found %s;\n  v_sum %1$s;\n', (routine).result) else '' end,
  ragdb_internal.router_body(routine));
