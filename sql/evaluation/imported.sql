-- Cases that a user gives an eval in JSON, read: their labels and assertions.

-- Returns the whole number under a key of a label, also where JSON writes it 1.0; null for any
-- other.
create or replace function ragdb_internal.label_number(label jsonb, key text, low float8,
  high float8) returns integer
language sql immutable parallel safe
return ragdb_internal.whole(case pg_catalog.jsonb_typeof(label -> key)
  when 'number' then pg_catalog.trim_scale((label ->> key)::numeric)::text
  else label ->> key end, label_number.low, label_number.high);

-- Returns the labels of an imported case, as they are stored; text_hash is that of a span that was
-- labelled elsewhere.
create or replace function ragdb_internal.imported_labels("case" jsonb)
returns table (label_no bigint, source text, start_offset integer, end_offset integer,
  grade integer, text_hash bytea)
language sql immutable parallel safe
begin atomic
  select l.n, ragdb_internal.without_dot(l.v ->> 'source'),
    ragdb_internal.label_number(l.v, 'start', 0, 1e9),
    ragdb_internal.label_number(l.v, 'end', 0, 1e9),
    coalesce(ragdb_internal.label_number(l.v, 'grade', -1000, 1000), 1),
    pg_catalog.decode(l.v ->> 'sha256', 'hex')
  from pg_catalog.jsonb_array_elements(ragdb_internal.json_part("case", 'labels', 'array'))
    with ordinality l (v, n);
end;

-- Returns the assertions of imported cases as nodes of a contract, whose line is the number of
-- their case.
create or replace function ragdb_internal.imported_asserts(cases jsonb)
returns setof ragdb_internal.contract_item
language sql immutable parallel safe
return ragdb_internal.contract_items(pg_catalog.jsonb_build_object('nodes', (
  select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('node', 'ragAssert', 'keys', a.v,
    'line', c.n) order by c.n, a.n)
  from pg_catalog.jsonb_array_elements(cases) with ordinality c (v, n)
    cross join lateral pg_catalog.jsonb_array_elements(
      ragdb_internal.json_part(c.v, 'asserts', 'array')) with ordinality a (v, n))));
