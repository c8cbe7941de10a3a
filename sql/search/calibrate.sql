-- What a search must score at least to be about what was asked, measured in the corpus itself: by
-- its best scores for pieces of its own texts, and for questions about something else.

-- Returns the median of some numbers; null of none.
create or replace function ragdb_internal.median(numbers float8[]) returns float8
language sql immutable parallel safe
return (select pg_catalog.percentile_cont(0.5::float8) within group (order by n)
  from pg_catalog.unnest(numbers) n);

-- Returns the least best score of a question that a corpus answers: a quarter of the way from its
-- median best score for questions about something else to that for its own words; 0.1 to 0.35, in
-- modes with embeddings to 0.5. A quarter of the way: where questions about a collection part from
-- those about another, tuned on two collections and shown on others (docs/evidence.md).
create or replace function ragdb_internal.gate_floor(mode text, own float8, other float8)
returns float8
language sql immutable parallel safe
return pg_catalog.round((1e4::float8 * greatest(0.1::float8, least(
  case when ragdb_internal.uses_embeddings(mode) then 0.5::float8 else 0.35::float8 end,
  gate_floor.other
    + greatest(gate_floor.own - gate_floor.other, 0) / 4)))) / 1e4::float8;

-- Keeps the floor of a corpus in a mode by its best scores for own and other questions; null where
-- ten of either are not to be had.
create or replace function ragdb_internal.keep_floor(
  corpus ragdb.corpora, space ragdb.embedding_spaces, mode text, own float8[], other float8[])
returns void
language sql
begin atomic
  insert into ragdb.gate_calibrations (corpus_id, mode, embedder_id, lexical_weight, floor,
      own_score, other_score, own_questions, other_questions, chunks, pivot, calibrated_at)
    select (keep_floor.corpus).corpus_id, keep_floor.mode,
      case when keep_floor.mode <> 'lexical' then (keep_floor.space).embedder_id end,
      case keep_floor.mode when 'hybrid'
        then ragdb_internal.lexical_weight((keep_floor.space).embedder_id) end,
      case when least(
          pg_catalog.cardinality(keep_floor.own), pg_catalog.cardinality(keep_floor.other)) >= 10
        then ragdb_internal.gate_floor(keep_floor.mode, m.own, m.other) end,
      m.own, m.other, pg_catalog.cardinality(keep_floor.own),
      pg_catalog.cardinality(keep_floor.other), (keep_floor.corpus).chunks,
      (keep_floor.corpus).pivot, ragdb_internal.now()
    from (select ragdb_internal.median(keep_floor.own) as own,
      ragdb_internal.median(keep_floor.other) as other) m
  on conflict on constraint gate_calibrations_are_unique_per_mode do update
    set embedder_id = excluded.embedder_id, lexical_weight = excluded.lexical_weight,
      floor = excluded.floor, own_score = excluded.own_score,
      other_score = excluded.other_score, own_questions = excluded.own_questions,
      other_questions = excluded.other_questions, chunks = excluded.chunks,
      pivot = excluded.pivot, calibrated_at = excluded.calibrated_at;
end;

-- Measures the floors of a corpus, one for each mode, and keeps them; those of another embedder go.
create or replace function ragdb_internal.calibrate(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space constant ragdb.embedding_spaces := ragdb_internal.space(
    ragdb_internal.embedded_as(corpus), 'current');
  v_questions constant text[] := ragdb_internal.own_questions(corpus);
  v_own ragdb_internal.best_score[];
  v_other ragdb_internal.best_score[];
begin
  delete from ragdb.gate_calibrations g
    where g.corpus_id = corpus.corpus_id
      and (v_questions = '{}' or g.embedder_id <> v_space.embedder_id
        or g.embedder_id is not null and v_space.space_id is null);
  if v_questions = '{}' then
    perform ragdb_internal.record_state('floors', corpus.corpus_id) where found;
    return;
  end if;
  v_own := array(select s from ragdb_internal.best_scores(corpus, v_questions) s);
  v_other := array(
    select s from ragdb_internal.best_scores(
      corpus, ragdb_internal.other_questions(corpus.text_config, v_questions)) s);
  -- what a model outside has not embedded now it may have before
  perform ragdb_internal.keep_floor(corpus, v_space, m.mode,
      array(select s.score from unnest(v_own) s where s.mode = m.mode),
      array(select s.score from unnest(v_other) s where s.mode = m.mode))
    from unnest(array['lexical', 'semantic', 'hybrid']) m (mode)
    where m.mode = 'lexical'
      or ragdb_internal.is_static(v_space.embedder_id)
      or exists (select from unnest(v_own) s where s.mode = m.mode);
  perform ragdb_internal.record_state('floors', corpus.corpus_id);
end $$;

-- Returns the floor that a corpus has for searches such as that of a trace; null without one. A
-- floor holds for the mode, the embedder and the weight that it was measured with.
create or replace function ragdb_internal.floor_of(trace ragdb.retrieval_traces) returns float8
language sql stable parallel safe
return (
  select g.floor from ragdb.gate_calibrations g
    left join ragdb.embedders e on e.embedder_id = g.embedder_id
  where g.corpus_id = (trace).corpus_id and g.mode = (trace).rank_mode
    and (trace).statistics is null
    and (g.mode = 'lexical' or e.name = (trace).embedding_model)
    and (g.mode <> 'hybrid' or (trace).ranking ->> 'fusion' = 'convex'
      and ((trace).ranking ->> 'lexical_weight')::float8 = g.lexical_weight));

-- Returns the floor that a corpus has for searches in a mode, with its own embedder and weight;
-- null without one.
create or replace function ragdb_internal.floor_in(corpus ragdb.corpora, mode text) returns float8
language sql stable parallel safe
return (
  select g.floor from ragdb.gate_calibrations g
  where g.corpus_id = (corpus).corpus_id and g.mode = floor_in.mode
    and (g.mode = 'lexical' or g.embedder_id = (
      ragdb_internal.space(ragdb_internal.embedded_as(corpus), 'current')).embedder_id)
    and (g.mode <> 'hybrid' or g.lexical_weight = ragdb_internal.lexical_weight(g.embedder_id)));

-- Whether the floors of a corpus are to be measured: with 50 chunks first, again with twice or half
-- as many (from 2,000 on, four times or a quarter), with another pivot, and where a static embedder
-- has taken over. From 2,000 chunks to 8,000 the floors moved by 0.01 to 0.04, and from there to
-- 185,000 by 0.01 to 0.06 (measured).
create or replace function ragdb_internal.is_calibration_due(corpus ragdb.corpora) returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space constant ragdb.embedding_spaces := ragdb_internal.space(
    ragdb_internal.embedded_as(corpus), 'current');
  v_words ragdb.gate_calibrations;
  v_times bigint;
begin
  select g.* into v_words from ragdb.gate_calibrations g
    where g.corpus_id = corpus.corpus_id and g.mode = 'lexical';
  if not found then
    return corpus.chunks >= 50;
  end if;
  v_times := case when greatest(corpus.chunks, v_words.chunks) < 2000 then 2 else 4 end;
  return corpus.chunks not between v_words.chunks / v_times + 1 and v_words.chunks * v_times - 1
    or corpus.pivot <> v_words.pivot
    or ragdb_internal.is_static(v_space.embedder_id)
      and not exists (select from ragdb.gate_calibrations g
        where g.corpus_id = corpus.corpus_id and g.embedder_id = v_space.embedder_id);
end $$;

-- Trigger of ragdb.corpora and ragdb.embedding_spaces: measures the floors of a corpus when that is
-- due. Definer: before version 18 a deferred trigger runs as whoever commits.
create or replace function ragdb_internal.calibrate_when_due() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
begin
  select c.* into v_corpus from ragdb.corpora c where c.corpus_id = new.corpus_id;
  if found and ragdb_internal.is_calibration_due(v_corpus) then
    perform ragdb_internal.calibrate(v_corpus);
  end if;
  return null;
end $$;

-- Deferred to the commit, when the chunks have their embeddings, and once for all of a transaction.
-- Updates only: a trigger on insert would run at restore.
drop trigger if exists floors_follow_chunks on ragdb.corpora;
create constraint trigger floors_follow_chunks after update on ragdb.corpora
  deferrable initially deferred for each row
  when (old.chunks is distinct from new.chunks or old.pivot is distinct from new.pivot)
  execute function ragdb_internal.calibrate_when_due();

drop trigger if exists floors_follow_embedder on ragdb.embedding_spaces;
create constraint trigger floors_follow_embedder after update on ragdb.embedding_spaces
  deferrable initially deferred for each row when (new.state = 'current')
  execute function ragdb_internal.calibrate_when_due();

create or replace function ragdb.calibrate_gate(corpus text)
returns table (
  mode text, floor float8, own_score float8, other_score float8, own_questions integer,
  other_questions integer, chunks integer, calibrated_at timestamptz)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(
    calibrate_gate.corpus, 'write', true);
begin
  perform ragdb_internal.calibrate(v_corpus);
  return query
    select g.mode, g.floor, g.own_score, g.other_score, g.own_questions, g.other_questions,
      g.chunks, g.calibrated_at
    from ragdb.gate_calibrations g where g.corpus_id = v_corpus.corpus_id order by g.mode;
end $$;
comment on function ragdb.calibrate_gate is
  'Measures what a search must score at least (floor, 0.1 to 0.35, with embeddings to 0.5) to be '
  'about what was asked, for each mode whose questions can be embedded: a quarter of the way from '
  'the median best score for questions about something else to that for pieces of the corpus. It '
  'runs by itself when a corpus has 50 chunks, again when they have doubled or halved (from 2,000 '
  'on, are four times or a quarter as many), after ragdb.optimize_corpus, and when a static '
  'embedder takes over. Raises RG400, RG401, RG404.';
