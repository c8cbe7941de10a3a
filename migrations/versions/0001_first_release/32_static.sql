-- Static embedders: models whose vectors of texts are sums of vectors of words, computed in SQL.

create table ragdb.static_models (
  embedder_id integer constraint static_models_embedder_is_unique primary key
    constraint static_models_embedder_exists references ragdb.embedders on delete cascade,
  tokenizer text not null
    constraint static_models_tokenizer_is_known
      check (tokenizer in ('bpe', 'wordpiece', 'unigram')),
  folding text not null
    constraint static_models_folding_is_known check (folding in ('none', 'case', 'accents')),
  longest integer not null constraint static_models_longest_is_positive check (longest > 0),
  splits_digits boolean not null,
  pieces integer not null constraint static_models_pieces_are_positive check (pieces > 0),
  digest text collate "C" not null
    constraint static_models_digest_is_a_sha256 check (digest ~ '^[0-9a-f]{64}$'),
  lexical_weight float8 not null
    constraint static_models_lexical_weight_is_in_range check (lexical_weight between 0 and 1)
);
comment on table ragdb.static_models is
  'The embedders that run inside the database. Read it through ragdb.list_static_models.';
comment on column ragdb.static_models.embedder_id is 'The embedder.';
comment on column ragdb.static_models.tokenizer is
  'How a word that is not a piece is cut: bpe, wordpiece or unigram (docs/static.md).';
comment on column ragdb.static_models.folding is
  'What is done to words first: none, case (one case) or accents (one case, no accents).';
comment on column ragdb.static_models.longest is 'Characters of its longest piece.';
comment on column ragdb.static_models.splits_digits is
  'Whether no piece of two characters or more has a digit (0 to 9).';
comment on column ragdb.static_models.pieces is 'How many pieces it has.';
comment on column ragdb.static_models.digest is
  'SHA-256 (hex) of its pieces, their ranks and vectors, checked when it was bound.';
comment on column ragdb.static_models.lexical_weight is
  'Share of the lexical leg (0 to 1) in a hybrid search that names none.';

-- A piece that begins a word begins with a space. The piece '' holds what a text without any known
-- word gets.
create table ragdb.static_pieces (
  embedder_id integer not null
    constraint static_pieces_embedder_exists references ragdb.embedders on delete cascade,
  piece text collate "C" not null,
  rank integer not null,
  embedding halfvec not null,
  constraint static_pieces_are_unique_per_embedder primary key (embedder_id, piece)
);
comment on table ragdb.static_pieces is
  'The pieces of words that a static embedder knows, each with its vector. Read it through '
  'ragdb.embed.';
comment on column ragdb.static_pieces.embedder_id is 'The embedder.';
comment on column ragdb.static_pieces.piece is
  'Letters of a word. A piece that begins words begins with a space. The empty piece stands for a '
  'text without any known word.';
comment on column ragdb.static_pieces.rank is
  'Which piece goes first: of bpe its number, smaller first; of unigram its logarithmic '
  'probability, -99 or more, in ten-millionths.';
comment on column ragdb.static_pieces.embedding is 'Its vector, whole numbers from -511 to 511.';

create table ragdb.static_words (
  embedder_id integer not null,
  word text collate "C" not null,
  embedding halfvec not null,
  constraint static_words_are_unique_per_embedder primary key (embedder_id, word)
);
comment on table ragdb.static_words is
  'Words that are not pieces and have been cut before. It is derived and may be emptied. Read it '
  'through ragdb.embed.';
comment on column ragdb.static_words.embedder_id is 'The embedder.';
comment on column ragdb.static_words.word is 'The word, folded as the embedder folds.';
comment on column ragdb.static_words.embedding is
  'The sum of the vectors of the pieces that it is cut into; zero where no part is known.';
