-- Labels of cases: what documents and spans they are of now, and a ranking as they see it.

-- Returns the sha256 of the characters, white space left out, that the chunks of a document have in
-- a span; null when they have none. Chunks overlap, and leave white space between them out: neither
-- may matter.
create or replace function ragdb_internal.span_hash(corpus_id integer, doc_no integer,
  start_offset integer, end_offset integer) returns bytea
language sql stable parallel safe
return (
  select pg_catalog.sha256(ragdb_internal.utf8(ragdb_internal.without_space(pg_catalog.string_agg(
    pg_catalog.substr(c.text,
      greatest(c.start_offset, span_hash.start_offset, c.covered) - c.start_offset + 1,
      greatest(0, least(c.end_offset, span_hash.end_offset)
        - greatest(c.start_offset, span_hash.start_offset, c.covered))),
    '' order by c.start_offset, c.end_offset))))
  from (
    select k.*, coalesce(pg_catalog.max(k.end_offset) over (
      order by k.start_offset, k.end_offset, k.ordinal
      rows between unbounded preceding and 1 preceding), 0) as covered
    from ragdb.chunks k where k.corpus_id = span_hash.corpus_id and k.doc_no = span_hash.doc_no
      and k.start_offset < span_hash.end_offset and k.end_offset > span_hash.start_offset) c);

-- Returns what files of TREC and messages call a label.
create or replace function ragdb_internal.label_item(source text, start_offset integer,
  end_offset integer) returns text
language sql immutable parallel safe
return label_item.source
  || coalesce('#' || label_item.start_offset || '-' || label_item.end_offset, '');

-- Returns the document of a uri or external id in a corpus or its parts; null when there is none.
create or replace function ragdb_internal.labelled_document(corpus_id integer, source text,
  out part_id integer, out doc_no integer)
language sql stable parallel safe
begin atomic
  with parts as materialized (
    select ragdb_internal.with_parts(labelled_document.corpus_id) as ids
  )
  select f.corpus_id, f.doc_no
  from parts p cross join lateral (
    select s.corpus_id, s.doc_no, 1 as rank from ragdb.document_sources s
    where s.corpus_id = any (p.ids) and s.uri = labelled_document.source
    union all
    select d.corpus_id, d.doc_no, 2 from ragdb.documents d
    where d.corpus_id = any (p.ids) and d.external_id = labelled_document.source) f
  order by f.rank, f.corpus_id, f.doc_no limit 1;
end;

-- Returns labels with their documents; is_stale where that is gone or the text of the span is
-- another.
create or replace function ragdb_internal.resolved_labels(corpus_id integer,
  labels ragdb_internal.eval_label[]) returns ragdb_internal.eval_label[]
language sql stable parallel safe
return array(
  select row(l.case_no, l.label_no, l.source, l.start_offset, l.end_offset, l.grade, l.span_hash,
    l.part_id, l.doc_no, l.doc_no is null or l.span_hash is distinct from case
      when l.start_offset is not null then ragdb_internal.span_hash(l.part_id,
        l.doc_no, l.start_offset, l.end_offset) end)::ragdb_internal.eval_label
  from (
    select u.case_no, u.label_no, u.source, u.start_offset, u.end_offset, u.grade, u.span_hash,
      d.part_id, d.doc_no
    from pg_catalog.unnest(resolved_labels.labels) u
      left join (
        select n.source, f.part_id, f.doc_no
        from (select distinct x.source from pg_catalog.unnest(resolved_labels.labels) x) n
          cross join lateral ragdb_internal.labelled_document(
            resolved_labels.corpus_id, n.source) f) d
        on d.source = u.source) l);

-- Returns the labels that measure: those that are not stale, and of several of one document or span
-- under its names that of the greatest grade.
create or replace function ragdb_internal.measuring_labels(labels ragdb_internal.eval_label[])
returns setof ragdb_internal.eval_label
language sql immutable parallel safe
begin atomic
  select distinct on (l.case_no, l.part_id, l.doc_no, l.start_offset, l.end_offset) l.*
  from pg_catalog.unnest(measuring_labels.labels) l where not l.is_stale
  order by l.case_no, l.part_id, l.doc_no, l.start_offset, l.end_offset, l.grade desc, l.label_no;
end;

-- Returns the ranking of some cases as their labels see it. A document counts once, and so does a
-- labelled span; what nobody judged is a document too, or a chunk where the case labels spans.
create or replace function ragdb_internal.label_items(corpus_id integer,
  hits ragdb_internal.eval_hit[], labels ragdb_internal.eval_label[])
returns setof ragdb_internal.eval_item
language sql stable parallel safe
begin atomic
  with h as materialized (
    select u.case_no, u.rank, u.chunk_id, u.source, u.start_offset, u.end_offset,
      d.corpus_id as part_id, d.doc_no, d.external_id
    from (select ragdb_internal.with_parts(label_items.corpus_id) as ids) p
      cross join pg_catalog.unnest(hits) u
      left join lateral (
        -- the hits of broken retrievers have no source, or a chunk id of their own
        select o.corpus_id, o.doc_no, o.external_id from ragdb.documents o
        where o.corpus_id = any (p.ids) and o.doc_cid = u.doc_cid
        order by o.source = u.source desc, o.corpus_id, o.doc_no limit 1) d on true
  ), l as materialized (
    select m.* from ragdb_internal.measuring_labels(labels) m
  ), spans as materialized (
    select distinct l.case_no from l where l.start_offset is not null
  ), pairs as materialized (
    select h.case_no, h.rank, l.label_no, l.grade,
      ragdb_internal.label_item(l.source, l.start_offset, l.end_offset) as item
    from h join l on l.case_no = h.case_no and l.part_id = h.part_id and l.doc_no = h.doc_no
    where l.start_offset is null
      or (l.start_offset < h.end_offset and h.start_offset < l.end_offset)
  ), found as (
    select p.case_no, pg_catalog.min(p.rank) as rank, p.label_no, p.item, p.grade
    from pairs p group by p.case_no, p.label_no, p.item, p.grade
    union all
    select x.case_no, pg_catalog.min(x.rank), 0, x.item, null
    from (
      select h.case_no, h.rank, h.part_id, h.doc_no, case when s.case_no is not null then h.chunk_id
        else coalesce(h.external_id, h.source) end as item
      from h left join spans s on s.case_no = h.case_no
      where not exists (select from pairs p where p.case_no = h.case_no and p.rank = h.rank)) x
    group by x.case_no, x.part_id, x.doc_no, x.item
  )
  select f.case_no, (pg_catalog.row_number() over (partition by f.case_no order by f.rank,
    f.label_no))::integer, f.item, f.grade
  from found f;
end;

-- Returns the grades of the labels of each case that measure, best first, under its number.
create or replace function ragdb_internal.label_grades(labels ragdb_internal.eval_label[])
  returns jsonb
language sql immutable parallel safe
return (select coalesce(pg_catalog.jsonb_object_agg(g.case_no, g.grades), '{}') from (
  select l.case_no, pg_catalog.jsonb_agg(l.grade order by l.grade desc) as grades
  from ragdb_internal.measuring_labels(labels) l group by l.case_no) g);

-- Returns the labels of a case.
create or replace function ragdb_internal.case_labels(declared ragdb.contract_nodes,
  corpus_id integer, case_no integer, name text)
returns setof ragdb_internal.eval_label
language sql stable parallel safe
begin atomic
  select case_labels.case_no, l.label_no, l.source, l.start_offset, l.end_offset, l.grade,
    l.span_hash, null::integer, null::integer, null::boolean
  from ragdb.eval_labels l where l.corpus_id = case_labels.corpus_id
    and l.rag = (declared).rag and l.eval = (declared).name and l.name = case_labels.name;
end;

-- Returns an outcome, STALE_LABEL, for each label that no longer resolves.
create or replace function ragdb_internal.label_results(labels ragdb_internal.eval_label[])
  returns setof ragdb_internal.eval_assert_result
language sql immutable parallel safe
begin atomic
  select l.case_no, 0, 'label', true, false, 'STALE_LABEL',
    'label ' || ragdb_internal.quote(l.source) || case when l.start_offset is null then ''
      else ' ' || l.start_offset || '..' || l.end_offset end
      || case when l.doc_no is null then ' is of no document of the corpus'
        else ' has another text than when it was labelled' end,
    pg_catalog.to_jsonb(l.source), null::jsonb
  from pg_catalog.unnest(labels) l where l.is_stale;
end;
