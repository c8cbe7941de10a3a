-- Breaches of the rules about corpora, sources, chunkings and embeds.

-- Returns the corpora whose name cannot be stored, the nodes whose corpus is missing or unknown,
-- and the second embeds of a corpus.
create or replace function ragdb_internal.breaches_of_corpora(
  items ragdb_internal.contract_item[], declared ragdb_internal.contract_names)
returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  select ragdb_internal.breach('rag-corpus-name-invalid', n, 'name')
  from pg_catalog.unnest(items) n
  where n.node = 'corpus' and n.name ~ '\S'
    and ragdb_internal.contract_slug(n.name) !~ '[a-z0-9]'
  union all
  select ragdb_internal.breach(
    case n.node when 'source' then 'rag-source-missing-corpus'
      else 'rag-chunking-missing-corpus' end, n, words => 'no-corpus')
  from pg_catalog.unnest(items) n
  where n.node in ('source', 'chunking') and n.corpus is null
  union all
  select ragdb_internal.breach(u.rule, n, 'corpus', array[ragdb_internal.quote(n.corpus)],
    ragdb_internal.meant_name(pg_catalog.row_number() over (order by n.node_no),
      n.corpus, (declared).corpora), 'unknown-corpus')
  from pg_catalog.unnest(items) n
    join (values
      ('source', 'rag-source-missing-corpus'),
      ('chunking', 'rag-chunking-unknown-corpus'),
      ('embed', 'rag-embed-unknown-corpus'),
      ('retriever', 'rag-retriever-unknown-corpus')
    ) u (node, rule) on u.node = n.node
  where n.corpus ~ '\S' and n.corpus <> all ((declared).corpora)
  union all
  select ragdb_internal.breach('rag-embed-duplicate-corpus', e.item, 'corpus',
    array[ragdb_internal.quote((e.item).corpus)])
  from (
    select n as item, pg_catalog.row_number() over (partition by n.corpus order by n.node_no) as nth
    from pg_catalog.unnest(items) n where n.node = 'embed' and n.corpus is not null) e
  where e.nth > 1;
end;

-- Whether an address is one of a source of this kind. What a uri looks like depends on the kind: a
-- local one stays below the folder of its contract.
create or replace function ragdb_internal.is_source_uri(uri text, kind text) returns boolean
language sql immutable parallel safe
return case kind
  when 's3' then uri ~ '^s3://[^/]+/'
  when 'http' then uri ~ '^https?://[^/]'
  when 'local' then uri !~ '^([/~]|[a-z0-9]+://)' and uri !~ '(^|/)\.\.(/|$)'
  else true
end;

-- Lists the formats that a source may name as its media: those of ragdb/readers/formats.py, with
-- which a test compares them.
create or replace function ragdb_internal.source_formats() returns text[]
language sql immutable parallel safe
return array['text', 'markdown', 'mdx', 'rst', 'asciidoc', 'html', 'csv', 'tsv', 'json', 'yaml',
  'ipynb', 'xml', 'rtf', 'eml', 'mbox', 'pdf', 'docx', 'pptx', 'sheet', 'odt', 'epub', 'jsonl'];

-- Returns the sources whose address, media, resource or acl is wrong.
create or replace function ragdb_internal.breaches_of_sources(items ragdb_internal.contract_item[])
  returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  with sources as materialized (
    select n as item, n.keys, coalesce(n.keys ->> 'kind', 'local') as kind, n.keys ->> 'uri' as uri,
      a.acl, pg_catalog.first_value(a.acl) over (partition by n.corpus order by n.node_no)
        as first_acl
    from pg_catalog.unnest(items) n
      cross join lateral (select array(select distinct r from pg_catalog.unnest(
        ragdb_internal.list(n.keys ->> 'acl')) r order by 1)) a (acl)
    where n.node = 'source'
  )
  select ragdb_internal.breach('rag-source-uri-empty', s.item, 'uri')
  from sources s where s.kind <> 'mcp' and s.uri ~ '\S' is not true
  union all
  select ragdb_internal.breach('rag-source-uri-invalid', s.item, 'uri', array[s.kind,
    case s.kind when 's3' then 'such as s3://bucket/docs/*.md'
      when 'http' then 'such as https://host/page.html'
      else 'a path below the contract''s folder, such as ./docs/**/*.md' end])
  from sources s where s.uri ~ '\S' and not ragdb_internal.is_source_uri(s.uri, s.kind)
  union all
  select ragdb_internal.breach('rag-source-glob-invalid', s.item, 'uri')
  from sources s where ragdb_internal.is_long_glob(s.uri)
  union all
  select ragdb_internal.breach('rag-source-media-unknown', s.item, 'media',
    array[ragdb_internal.quote(s.keys ->> 'media'),
      pg_catalog.array_to_string(ragdb_internal.source_formats(), ', ')],
    ragdb_internal.meant_name(pg_catalog.row_number() over (order by (s.item).node_no),
      s.keys ->> 'media', ragdb_internal.source_formats()))
  from sources s
  where pg_catalog.strpos(s.keys ->> 'media', '/') = 0
    and pg_catalog.lower(s.keys ->> 'media' collate "C") <> all (ragdb_internal.source_formats())
  union all
  select ragdb_internal.breach('rag-source-mcp-resource-required', s.item, 'resource')
  from sources s where s.kind = 'mcp' and (s.keys ->> 'resource') ~ '\S' is not true
  union all
  select ragdb_internal.breach('rag-source-resource-requires-mcp-kind', s.item, 'resource')
  from sources s where s.keys ? 'resource' and s.kind <> 'mcp'
  union all
  select ragdb_internal.breach('rag-source-acl-conflict', s.item, 'acl')
  from sources s where s.acl is distinct from s.first_acl;
end;

-- Returns the chunkings of an unknown source or of one that has another, and those whose overlap is
-- too long.
create or replace function ragdb_internal.breaches_of_chunkings(
  items ragdb_internal.contract_item[])
returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  with chunkings as materialized (
    select n as item, n.corpus, n.keys, n.keys ->> 'source' as source,
      ragdb_internal.whole(n.keys ->> 'maxTokens', 1, 100000) as max_tokens,
      ragdb_internal.whole(n.keys ->> 'overlap', 0, 100000) as overlap,
      pg_catalog.row_number() over (partition by n.corpus, n.keys ->> 'source'
        order by n.node_no) as nth
    from pg_catalog.unnest(items) n where n.node = 'chunking'
  ), sources as materialized (
    select distinct n.corpus, n.name from pg_catalog.unnest(items) n
    where n.node = 'source' and n.name is not null
  )
  select ragdb_internal.breach('rag-chunking-unknown-source', c.item, 'source',
    array[ragdb_internal.quote(c.source), ragdb_internal.quote(c.corpus)],
    ragdb_internal.meant_name(pg_catalog.row_number() over (order by (c.item).node_no), c.source,
      array(select s.name from sources s where s.corpus = c.corpus)))
  from chunkings c
  where c.keys ? 'source' and c.corpus is not null
    and not exists (select from sources s where s.corpus = c.corpus and s.name = c.source)
  union all
  select ragdb_internal.breach('rag-chunking-duplicate', c.item, 'source')
  from chunkings c where c.nth > 1
  union all
  select ragdb_internal.breach('rag-chunking-overlap-invalid', c.item, 'overlap',
    array[c.keys ->> 'overlap', coalesce(c.keys ->> 'maxTokens', '240')],
    words => 'overlap-too-long')
  from chunkings c where c.overlap >= coalesce(c.max_tokens, 240)
  union all
  select ragdb_internal.breach('rag-chunking-overlap-invalid', c.item, 'maxTokens',
    array[c.keys ->> 'maxTokens'], words => 'overlap-of-default-too-long')
  from chunkings c where not c.keys ? 'overlap' and c.max_tokens <= 48;
end;
