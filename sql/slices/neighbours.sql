-- What a slice may take next, around a chunk that it has taken. Every row is looked up by its key
-- (lateral, offset 0): how many there are in a corpus that the planner has not seen decides
-- nothing.

-- Tells whether a chunk is a parent or child of one of some others.
create or replace function ragdb_internal.is_beside(
  corpus_id integer, hubs integer[], chunk_no integer)
returns boolean
language sql stable parallel safe
return exists (select from ragdb.edges e
    where e.corpus_id = is_beside.corpus_id
      and e.parent_no = any (is_beside.hubs) and e.child_no = is_beside.chunk_no)
  or exists (select from ragdb.edges e
    where e.corpus_id = is_beside.corpus_id
      and e.child_no = any (is_beside.hubs) and e.parent_no = is_beside.chunk_no);

-- Returns the max_nodes chunks of the highest priority at a distance (nearness is minus the
-- distance), then of the larger id, of those that are beside no hub. The ids are read only of what
-- may be among the best: of a crowd, few. So are the edges to hubs: in the order of priority
-- (offset 0), until there are enough.
create or replace function ragdb_internal.slice_best(
  corpus_id integer, chunk_nos integer[], hubs integer[], nearness integer,
  rules ragdb_internal.slice_rules)
returns setof integer
language sql stable parallel safe
begin atomic
  select c.chunk_no
    from (
      select n.chunk_no, n.priority
        from (
          select n.chunk_no,
              ragdb_internal.slice_priority(t.phase, t.salience, slice_best.nearness, rules)
                as priority
            from pg_catalog.unnest(slice_best.chunk_nos) n (chunk_no)
            left join lateral (
              select t.phase, t.salience from ragdb.turns t
                where t.corpus_id = slice_best.corpus_id and t.chunk_no = n.chunk_no
                offset 0) t on true
            order by 2 desc offset 0) n
        where slice_best.hubs = '{}'
          or not ragdb_internal.is_beside(slice_best.corpus_id, slice_best.hubs, n.chunk_no)
        order by 2 desc fetch first ((rules).max_nodes) rows with ties) b
    cross join lateral (
      select c.chunk_no, c.chunk_id from ragdb.chunks c
        where c.corpus_id = slice_best.corpus_id and c.chunk_no = b.chunk_no
        offset 0) c
    order by b.priority desc, c.chunk_id desc limit (rules).max_nodes;
end;

-- Returns the max_nodes best parents and the max_nodes best children of a chunk, of those that are
-- not met yet: neither among met nor beside a hub. Parents and children apart, because either side
-- alone may be the crowd. What was met has the priority of where it was met, and leaves its place
-- among the best here to another.
create or replace function ragdb_internal.slice_best_neighbours(
  corpus_id integer, chunk_no integer, met integer[], hubs integer[], nearness integer,
  rules ragdb_internal.slice_rules)
returns setof integer
language sql stable parallel safe
begin atomic
  select p from ragdb_internal.slice_best(slice_best_neighbours.corpus_id, array(
      select e.parent_no from ragdb.edges e
        where e.corpus_id = slice_best_neighbours.corpus_id
          and e.child_no = slice_best_neighbours.chunk_no
      except select pg_catalog.unnest(slice_best_neighbours.met)),
    slice_best_neighbours.hubs, slice_best_neighbours.nearness, rules) p
  union all
  select c from ragdb_internal.slice_best(slice_best_neighbours.corpus_id, array(
      select e.child_no from ragdb.edges e
        where e.corpus_id = slice_best_neighbours.corpus_id
          and e.parent_no = slice_best_neighbours.chunk_no
      except select pg_catalog.unnest(slice_best_neighbours.met)),
    slice_best_neighbours.hubs, slice_best_neighbours.nearness, rules) c;
end;

-- Returns the max_siblings other children of some parents of a chunk, by salience, then smaller id.
-- The siblings of highest salience of each parent are the first entries of an index, so a crowd
-- under one parent costs nothing.
create or replace function ragdb_internal.slice_siblings(
  corpus_id integer, chunk_no integer, parents integer[], max_siblings integer)
returns setof integer
language sql stable parallel safe
begin atomic
  select c.chunk_no
    from (
      select e.child_no, pg_catalog.max(e.child_salience) as salience
        from pg_catalog.unnest(slice_siblings.parents) p (parent_no)
        cross join lateral (
          select distinct e.child_no, e.child_salience from ragdb.edges e
            where e.corpus_id = slice_siblings.corpus_id and e.parent_no = p.parent_no
              and e.child_no <> slice_siblings.chunk_no
            order by e.child_salience desc
            fetch first (slice_siblings.max_siblings) rows with ties) e
        group by e.child_no
        order by 2 desc fetch first (slice_siblings.max_siblings) rows with ties) s
    cross join lateral (
      select c.chunk_no, c.chunk_id from ragdb.chunks c
        where c.corpus_id = slice_siblings.corpus_id and c.chunk_no = s.child_no
        offset 0) c
    order by s.salience desc, c.chunk_id limit slice_siblings.max_siblings;
end;

-- Returns what stands around a chunk of some nearness as nodes: its neighbours are one step
-- farther, its siblings as near as itself.
create or replace function ragdb_internal.slice_nodes(
  corpus_id integer, chunk_nos integer[], neighbours integer[], nearness integer,
  rules ragdb_internal.slice_rules)
returns setof ragdb_internal.slice_node
language sql stable parallel safe
begin atomic
  select ragdb_internal.slice_priority(t.phase, t.salience, d.nearness, rules), d.nearness,
      c.chunk_id, c.chunk_no
    from pg_catalog.unnest(slice_nodes.chunk_nos) n (chunk_no)
    cross join lateral (
      select slice_nodes.nearness - (n.chunk_no = any (slice_nodes.neighbours))::integer
        as nearness) d
    cross join lateral (
      select c.chunk_no, c.chunk_id from ragdb.chunks c
        where c.corpus_id = slice_nodes.corpus_id and c.chunk_no = n.chunk_no
        offset 0) c
    left join lateral (
      select t.phase, t.salience from ragdb.turns t
        where t.corpus_id = slice_nodes.corpus_id and t.chunk_no = n.chunk_no
        offset 0) t on true;
end;
