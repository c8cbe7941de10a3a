-- The citations of recorded answers beside the words that they cite, and what each code means.

create or replace function ragdb.citation_codes()
returns table (code text, is_advisory boolean, meaning text)
language sql immutable parallel safe
begin atomic
  select c.* from (values
    ('CITE_UNKNOWN', false, 'the evidence has no such chunk, or it is of another source'),
    ('CITE_NOT_RETRIEVED', false, 'the trace did not retrieve the chunk, or another text of it'),
    ('CITE_STALE', false, 'the chunk has changed or gone since the trace, or has another text'),
    ('CITE_NOT_ADMISSIBLE', false, 'no admissible slice of the trace has this chunk'),
    ('SPAN_INVALID', false, 'a range lies outside the chunk or the answer, or splits a character'),
    ('QUOTE_TOO_SHORT', false, 'the quote has too few letters to be found for certain'),
    ('QUOTE_NOT_FOUND', false, 'the chunk does not say the quote'),
    ('QUOTE_CROSSES_CHUNKS', false, 'the chunk says only a part of the quote'),
    ('MARKER_UNRESOLVED', false, 'a marker [n] that is not the number of a chunk'),
    ('NUMBER_UNSUPPORTED', false, 'a number or identifier that none of the cited chunks has'),
    ('CITATION_REQUIRED', false, 'the answer cites nothing'),
    ('COVERAGE_BELOW_THRESHOLD', false, 'too little of the answer is cited'),
    ('OFFSETS_CORRECTED', true, 'the quote is at another place than claimed'),
    ('OVER_CITED', true, 'more than three chunks for one span')) c (code, is_advisory, meaning);
end;
comment on function ragdb.citation_codes is
  'Lists the codes of ragdb.check_citations, whether each is only advice, and what it means.';

-- A chunk's id is made of its text, so what was cited is what it says now, as long as it is there.
create or replace function ragdb.list_citations(answer_id uuid)
returns table (row_no integer, citation integer, code text, is_advisory boolean, source_id text,
  chunk_id text, method text, similarity float8, start_offset integer, end_offset integer,
  unit text, text text, page integer)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer constant ragdb.evidence_answers := ragdb_internal.open_answer(answer_id);
  v_is_shown constant boolean := ragdb_internal.is_shown_answer(v_answer);
  v_reads constant boolean := v_is_shown and exists (select from ragdb.corpora c
    where c.corpus_id = v_answer.corpus_id and ragdb_internal.privilege(c) > 0);
begin
  perform ragdb_internal.record_read(c) from ragdb.corpora c
    where v_reads and c.corpus_id = v_answer.corpus_id and c.record_reads <> 'off';
  return query
    select x.row_no, x.citation, x.code, x.is_advisory, x.source_id, x.chunk_id, x.method,
      x.similarity, case when v_is_shown then x.start_offset end,
      case when v_is_shown then x.end_offset end, x.unit, k.text, k.page
    from ragdb.answer_citations x
      left join lateral ragdb_internal.chunk_of(x.corpus_id, x.chunk_id) k on v_reads
    where x.corpus_id = v_answer.corpus_id and x.answer_id = v_answer.id
      and x.created_at = v_answer.created_at
    order by x.row_no;
end $$;
comment on function ragdb.list_citations is
  'Returns what ragdb.check_citations found in a recorded answer: a row for each citation that '
  'holds (code null) and for each problem, with the text of the chunk, in which the quote stands '
  'from start_offset to end_offset counted in unit; the text is null where the chunk is gone or '
  'the caller may not read the corpus, and so are the offsets where the caller may not read the '
  'trace. Raises RG407.';
