-- The graph between chunks: edges, links as written, and turns of conversations.

create table ragdb.edges (
  corpus_id integer not null,
  parent_no integer not null,
  child_no integer not null,
  edge_type text collate "C" not null
    constraint edges_type_is_known check (edge_type in ('reply', 'branch', 'reference', 'default')),
  -- kept here so that the best children of a hub are one index range
  child_salience real not null default 0.5,
  -- what the documents say is made anew with them, and what was added stays
  is_added boolean not null default false,
  constraint edges_are_unique primary key (corpus_id, parent_no, child_no, edge_type),
  constraint edges_join_two_chunks check (parent_no <> child_no)
);
-- as for ragdb.chunks
alter table ragdb.edges alter corpus_id set statistics 0, alter parent_no set statistics 20,
  alter child_no set statistics 20, alter edge_type set statistics 20,
  alter child_salience set statistics 20, alter is_added set statistics 20;
create index edges_by_salience on ragdb.edges (corpus_id, parent_no, child_salience desc, child_no);
create index edges_by_child on ragdb.edges (child_no, corpus_id, parent_no);
comment on table ragdb.edges is 'Typed links between chunks.';
comment on column ragdb.edges.corpus_id is 'The corpus.';
comment on column ragdb.edges.parent_no is 'Chunk that the edge leaves.';
comment on column ragdb.edges.child_no is 'Chunk that the edge points to.';
comment on column ragdb.edges.edge_type is
  'default: next chunk; branch: chunk of the section, or head of a section below; reference: '
  'hyperlink; reply: answer in a conversation.';
comment on column ragdb.edges.child_salience is 'Salience of the child, 0 to 1.';
comment on column ragdb.edges.is_added is
  'Whether it was added by itself, so that no document says it; it stays as long as its chunks.';

create table ragdb.document_links (
  corpus_id integer not null,
  chunk_no integer not null,
  target text collate "C" not null,
  constraint document_links_are_unique primary key (corpus_id, chunk_no, target),
  constraint document_links_chunk_exists foreign key (corpus_id, chunk_no)
    references ragdb.chunks on delete cascade
);
-- as for ragdb.documents
alter table ragdb.document_links alter corpus_id set statistics 0;
-- it includes the chunk, or the planner looks for a target in the key, among all links of a corpus
create index document_links_by_target on ragdb.document_links (target, corpus_id)
  include (chunk_no);
comment on table ragdb.document_links is
  'Hyperlinks of chunks, as written. A link whose target is in the corpus is an edge too.';
comment on column ragdb.document_links.corpus_id is 'The corpus.';
comment on column ragdb.document_links.chunk_no is 'Chunk that contains the link.';
comment on column ragdb.document_links.target is
  'Path or URL that the link leads to, without fragment.';

create table ragdb.turns (
  corpus_id integer not null,
  chunk_no integer not null,
  turn_id uuid not null,
  session_id text collate "C" not null,
  role text collate "C" not null
    constraint turns_role_is_known check (role in ('user', 'assistant', 'system', 'tool')),
  phase text not null constraint turns_phase_is_known
    check (phase in ('exploration', 'debugging', 'planning', 'consolidation', 'synthesis')),
  salience real not null constraint turns_salience_is_a_share check (salience between 0 and 1),
  depth integer not null constraint turns_depth_is_not_negative check (depth >= 0),
  place integer not null,
  answers_no integer not null,
  sibling_order integer not null
    constraint turns_sibling_order_is_not_negative check (sibling_order >= 0),
  homogeneity real not null
    constraint turns_homogeneity_is_a_share check (homogeneity between 0 and 1),
  complexity real not null constraint turns_complexity_is_not_negative check (complexity >= 0),
  given jsonb not null default '{}',
  created_at timestamptz not null,
  constraint turns_chunk_exists foreign key (corpus_id, chunk_no)
    references ragdb.chunks on delete cascade
);
-- as for ragdb.documents
alter table ragdb.turns alter corpus_id set statistics 0;
alter table ragdb.turns alter session_id set statistics 0;
-- by expressions, so that nobody who asks for a turn or for times of a session takes it: where the
-- planner takes all turns of a corpus for few, it would scan them
create index turns_by_time on ragdb.turns (
  (corpus_id + 0), (created_at at time zone 'UTC'));
-- the order of a session; what is appended reads its end, however long it is
create index turns_by_session on ragdb.turns (
  session_id, corpus_id, created_at, place, turn_id);
create index turns_by_answered on ragdb.turns (
  session_id, corpus_id, answers_no, created_at, place, turn_id);
-- for filters, by an expression too
create index turns_by_role on ragdb.turns ((corpus_id + 0), role);
create index turns_by_speaker on ragdb.turns (
  (corpus_id + 0), ((given ->> 'speaker') collate "C")) where given ->> 'speaker' is not null;
-- last, as that of ragdb.documents
alter table ragdb.turns add constraint turns_are_unique
  primary key (corpus_id, chunk_no) include (phase, salience);
comment on table ragdb.turns is
  'What a chunk that is one message of a conversation has besides its text. Read it through '
  'ragdb.get_turn.';
comment on column ragdb.turns.corpus_id is 'The corpus.';
comment on column ragdb.turns.chunk_no is 'The chunk.';
comment on column ragdb.turns.turn_id is
  'The id of the chunk. It decides between turns of one time and place.';
comment on column ragdb.turns.session_id is 'The conversation.';
comment on column ragdb.turns.role is 'Who speaks: user, assistant, system or tool.';
comment on column ragdb.turns.phase is
  'exploration, debugging, planning, consolidation or synthesis; derived unless given.';
comment on column ragdb.turns.salience is
  'How much the turn matters, 0 to 1; derived unless given.';
comment on column ragdb.turns.depth is
  'Fewest replies and branches that lead to it from a root of its session.';
comment on column ragdb.turns.place is
  'Position in its document, from 0; it decides between turns of one time.';
comment on column ragdb.turns.answers_no is
  'The turn of its session that it answers, of several the one of the least id; 0 at a root.';
comment on column ragdb.turns.sibling_order is
  'Position among the answers to the same turn by time, from 0.';
comment on column ragdb.turns.homogeneity is
  'Cosine similarity to the parent, 0 to 1; 1 at a root, 0.5 until embedded.';
comment on column ragdb.turns.complexity is 'Number of parts: the text, code blocks and images.';
comment on column ragdb.turns.given is
  'What the conversation gave of phase, salience and feedback.';
comment on column ragdb.turns.created_at is
  'When it was said. Turns without a time count seconds of 1970 in the order of the file.';
