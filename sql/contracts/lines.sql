-- The lines of a contract's text: the node that each names, and the line that it stands below. A
-- column counts characters from 1, and a tab is one of them.

-- A line of a contract: how many spaces it begins with, the node that it names (null: none) and
-- what follows, the line that it stands below, its depth from 1, and the words (rule_words) of what
-- is wrong with its indentation.
create type ragdb_internal.contract_line as (
  line integer, indent integer, node text, rest text, parent_line integer, depth integer,
  wrong text[]);

-- Something in the text of a contract that cannot be read: where, the name of its words
-- (rule_words), and what else these tell.
create type ragdb_internal.syntax_problem as (
  line integer, "column" integer, words text, details text[]);

-- Returns the lines of a text, numbered from 1. A byte order mark is not a character of the first
-- line, nor the return of a line that ends as in DOS one of that.
create or replace function ragdb_internal.text_lines(contract text)
  returns table (line integer, written text)
language sql immutable parallel safe
begin atomic
  select s.line::integer,
    case when pg_catalog.right(s.written, 1) = E'\r' then pg_catalog.left(s.written, -1)
      else s.written end
  from pg_catalog.string_to_table(
    case when pg_catalog.left(contract, 1) = U&'\FEFF' then pg_catalog.substr(contract, 2)
      else contract end, E'\n') with ordinality s (written, line);
end;

-- Returns the lines of a contract that say something and can be read, without their place among the
-- others.
create or replace function ragdb_internal.contract_lines(contract text)
  returns setof ragdb_internal.contract_line
language sql immutable parallel safe
begin atomic
  select l.line, (pg_catalog.length(l.written) - pg_catalog.length(n.written))::integer, n.node,
    pg_catalog.substr(n.written, coalesce(pg_catalog.length(n.node), 0) + 1),
    null::integer, null::integer, null::text[]
  from ragdb_internal.text_lines(contract) l
    cross join lateral (
      select pg_catalog.ltrim(l.written, ' ') as written,
        pg_catalog.substring(pg_catalog.ltrim(l.written, ' '),
          '^([A-Za-z_][A-Za-z0-9_-]*)(?:[ \t]|$)') as node) n
  where pg_catalog.left(pg_catalog.ltrim(n.written, E' \t'), 1) not in ('', '#')
    and pg_catalog.left(n.written, 1) <> E'\t'
    and l.written !~ '[\x01-\x08\x0a-\x1f\x7f]';
end;

-- Returns the lines of a contract that cannot be read: one has a control character, or a tab in its
-- indentation.
create or replace function ragdb_internal.problems_of_lines(contract text)
  returns setof ragdb_internal.syntax_problem
language sql immutable parallel safe
begin atomic
  select l.line, p.place, p.words, '{}'::text[]
  from ragdb_internal.text_lines(contract) l
    cross join lateral (
      select case when c.control > 0 then c.control
          else pg_catalog.length(l.written) - pg_catalog.length(pg_catalog.ltrim(l.written, ' '))
            + 1 end as place,
        case when c.control > 0 then 'control-character'
          when pg_catalog.left(pg_catalog.ltrim(l.written, ' '), 1) = E'\t'
            and pg_catalog.left(pg_catalog.ltrim(l.written, E' \t'), 1) not in ('', '#')
            then 'tab-in-indentation' end as words
      from (select pg_catalog.regexp_instr(l.written, '[\x01-\x08\x0a-\x1f\x7f]') as control) c) p
  where p.words is not null
  order by l.line;
end;

-- Returns the lines of a contract with the line that each stands below and its depth, which is null
-- for one that is more than 16 levels deep. A line ends those above it that are indented as far or
-- farther.
create or replace function ragdb_internal.placed_lines(lines ragdb_internal.contract_line[])
  returns setof ragdb_internal.contract_line
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_line ragdb_internal.contract_line;
  v_lines integer[] := '{}';  -- the lines that this one may stand below, and their indents
  v_indents integer[] := '{}';
  v_depth integer := 0;
  v_ended integer;
  v_is_first boolean := true;
begin
  foreach v_line in array lines loop
    v_ended := 0;
    while v_depth > 0 and v_indents[v_depth] >= v_line.indent loop
      v_ended := v_indents[v_depth];
      v_depth := v_depth - 1;
    end loop;
    v_line.wrong := array_remove(array[
      case when v_ended > v_line.indent then 'misaligned' end,
      case when v_depth >= 16 then 'nested-too-deep' end,
      case when v_is_first and v_line.indent > 0 then 'first-indented' end], null);
    if v_depth < 16 then
      v_line.parent_line := case when v_depth > 0 then v_lines[v_depth] end;
      v_depth := v_depth + 1;
      v_line.depth := v_depth;
      v_lines[v_depth] := v_line.line;
      v_indents[v_depth] := v_line.indent;
      v_is_first := false;
    end if;
    return next v_line;
  end loop;
end $$;

-- Returns the lines of a contract that are wrongly indented, or that do not begin with the name of
-- a node.
create or replace function ragdb_internal.problems_of_places(lines ragdb_internal.contract_line[])
  returns setof ragdb_internal.syntax_problem
language sql immutable parallel safe
begin atomic
  select l.line, l.indent + 1, w.words, '{}'::text[]
  from pg_catalog.unnest(lines) l
    cross join lateral pg_catalog.unnest(l.wrong
      || case when l.depth is not null and l.node is null then array['no-node-name']
        else '{}' end) with ordinality w (words, n)
  order by l.line, w.n;
end;
