comment on table ragdb.turns is
  'What a chunk that is one message of a conversation has besides its text.';
comment on column ragdb.turns.corpus_id is 'The corpus.';
comment on column ragdb.turns.chunk_no is 'The chunk; its id is the message''s UUID.';
comment on column ragdb.turns.session_id is 'The conversation.';
comment on column ragdb.turns.role is 'user, assistant, system or tool.';
comment on column ragdb.turns.phase is
  'exploration, debugging, planning, consolidation or synthesis; derived unless given.';
comment on column ragdb.turns.salience is
  'How much the turn matters, 0 to 1; derived unless given.';
comment on column ragdb.turns.depth is 'Hops from the root of its tree along replies and branches.';
comment on column ragdb.turns.sibling_order is
  'Position among the answers to the same turn by time, from 0.';
comment on column ragdb.turns.homogeneity is
  'Cosine to the parent, 0 to 1; 1 at a root, 0.5 until embedded.';
comment on column ragdb.turns.temporal is 'Position in the time span of the session, 0 to 1.';
comment on column ragdb.turns.complexity is 'Number of parts: the text, code blocks and images.';
comment on column ragdb.turns.given is
  'Of phase, salience and feedback, what the conversation came with.';
comment on column ragdb.turns.created_at is
  'When it was said; without a time, seconds of 1970 in the order of the file.';
