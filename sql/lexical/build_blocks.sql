-- A lexeme of 64 chunks is worth a block; of fewer chunks than these 2,000 in all, no lexeme is.
-- Group by group, so that what is kept in memory is the largest impacts alone.
create or replace function ragdb_internal.build_blocks(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_mergejoin = off
set enable_seqscan = off
set work_mem = '64MB'
set jit = off
as $$
declare
  v_blocks constant integer := ragdb_internal.blocks(corpus.next_chunk_no - 1);
begin
  delete from ragdb.block_states t where t.corpus_id = corpus.corpus_id;
  if corpus.chunks < 2000 then
    return;
  end if;
  insert into ragdb.block_states (corpus_id, last_chunk_no) values (corpus.corpus_id,
    corpus.next_chunk_no - 1);
  update ragdb.lexemes l set block_weight = w.weight
    from (select t.term_id,
      case when t.df >= 64 then ln(1 + (corpus.chunks - t.df + 0.5::float8) / (t.df + 0.5::float8))
      end as weight
      from ragdb.lexemes t where t.corpus_id = corpus.corpus_id) w
    where l.corpus_id = corpus.corpus_id and l.term_id = w.term_id
      and l.block_weight is distinct from w.weight;
  insert into ragdb.term_blocks (corpus_id, term_id, block_no, scores)
  select corpus.corpus_id, p.term_id, n.group_no % v_blocks, ragdb_internal.sparse_block(
    string_agg(n.group_no / v_blocks + 1 || ':' || (w.block_weight * p.impact)::real, ','),
    ragdb_internal.block_size(corpus.next_chunk_no - 1))
  from generate_series(0, (corpus.next_chunk_no - 2) / 4) n (group_no)
    cross join lateral (
      select ragdb_internal.term_id(u.lexeme) as term_id,
        max((corpus.k1 + 1) * cardinality(u.positions) / (cardinality(u.positions)
          + corpus.k1 * (1 - corpus.b + corpus.b * x.lexeme_count / corpus.pivot))) as impact
      from ragdb.chunk_lexemes x cross join lateral unnest(x.lexemes) u
      where x.corpus_id = corpus.corpus_id and x.chunk_no between 4 * n.group_no + 1
        and 4 * n.group_no + 4
      group by u.lexeme
      offset 0) p
    join (select l.term_id, l.block_weight from ragdb.lexemes l
      where l.corpus_id = corpus.corpus_id and l.block_weight is not null offset 0) w
        on w.term_id = p.term_id
  group by p.term_id, n.group_no % v_blocks
  order by p.term_id, n.group_no % v_blocks;
end $$;
comment on function ragdb_internal.build_blocks(ragdb.corpora) is
  'Makes the blocks of a corpus anew; the caller holds the corpus lock.';
