-- What the gate of a corpus is calibrated by: pieces of its own texts, and questions about
-- something else.
--
-- These questions are ours and the same everywhere: to take them from other
-- corpora would let who writes those move this floor, and tell of what they say. Whoever writes to
-- a corpus moves its own floor, hence the least and the most that it can be.
create or replace function ragdb_internal.other_questions() returns text[]
language sql immutable parallel safe
return array[
  'How long must a turkey rest before it is carved?',
  'Which team won the first football world cup in Uruguay?',
  'Why do cats purr when they are stroked?',
  'What is the best season to prune an apple tree?',
  'How many strings does a Spanish guitar have?',
  'Who painted the ceiling of the Sistine Chapel?',
  'What does a pawn become at the far end of the board?',
  'How is a sourdough starter kept alive over the holidays?',
  'When does the tide come in at the harbour of Saint Malo?',
  'Which gloves are warm enough for skiing in Norway?',
  'How do I get red wine out of a white carpet?',
  'Which planet has the largest moon in the solar system?',
  'How high is the toll for a caravan on the Italian motorway?',
  'What did Napoleon say after the battle of Waterloo?',
  'How do bees tell each other where the flowers are?',
  'Which knot holds a hammock between two trees?',
  'How much sleep does a child of three years need?',
  'What is the difference between a violin and a viola?',
  'Where do swallows spend the winter?',
  'Which spices belong into a Moroccan tagine?',
  'How is a bicycle chain cleaned and oiled?',
  'What is the tallest building in Dubai used for?',
  'How do I teach my dog to walk on a leash?',
  'Which vaccinations are advised for a journey to Kenya?',
  'How many players of a rugby team may kick the ball?',
  'What colour was the dress of the bride at the royal wedding?',
  'How deep should tulip bulbs be planted in autumn?',
  'Who wrote the novel about a whale and a captain?',
  'What makes the crust of a baguette crisp?',
  'Which actor played the butler in the silent film?',
  'Why does the moon look larger near the horizon?',
  'How much rent may a landlord ask for a parking space?',
  'When was the lighthouse on the island rebuilt after the storm?',
  'What should I wear to a job interview in a bank?',
  'How many eggs does a hen lay in a year?',
  'How do I sharpen a kitchen knife with a whetstone?'];
comment on function ragdb_internal.other_questions() is
  'Lists questions of every day, which few corpora answer.';

-- About ten words; where words have no spaces between them, as many characters.
create or replace function ragdb_internal.own_questions(corpus ragdb.corpora) returns text[]
language sql stable parallel safe
begin atomic
  select coalesce(pg_catalog.array_agg(p.piece order by p.n) filter (where p.piece ~ '\S'), '{}')
  from (
    select i.n, case when pg_catalog.length(w.whole) > 24 then w.whole else s.piece end as piece
    from pg_catalog.generate_series(0, 35) i (n)
      cross join lateral (
        select c.text from ragdb.chunks c
        where c.corpus_id = (own_questions.corpus).corpus_id
          and c.chunk_no >= 1 + i.n * ((own_questions.corpus).next_chunk_no - 1::bigint) / 36
        order by c.chunk_no limit 1) k
      cross join lateral (
        select pg_catalog.substr(k.text,
          1 + i.n * 7919 % greatest(1, pg_catalog.length(k.text) - 64), 64) as piece offset 0) s
      cross join lateral (
        select pg_catalog.regexp_replace(s.piece, '^\S*\s+|\s+\S*$', '', 'g') as whole offset 0) w
  ) p;
end;
comment on function ragdb_internal.own_questions(ragdb.corpora) is
  'Returns pieces of up to 64 characters from chunks spread over a corpus, the same for the same '
  'corpus; 36 at most.';

create or replace function ragdb.gate_questions(corpus text)
returns table (question text, is_own boolean)
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select q.question, q.is_own
  from ragdb_internal.open_corpus(gate_questions.corpus, 'write') c
    cross join lateral (
      select o.question, true from pg_catalog.unnest(ragdb_internal.own_questions(c)) o (question)
      union all
      select o.question, false
      from pg_catalog.unnest(ragdb_internal.other_questions()) o (question)) q (question, is_own);
end;
comment on function ragdb.gate_questions(text) is
  'Returns what the gate of a corpus is calibrated by: pieces of its own texts, and questions '
  'about something else. Where a model outside embeds the corpus, put_query_embedding of each '
  'comes before calibrate_gate. Raises RG400, RG401, RG404.';
