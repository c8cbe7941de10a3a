-- The database as a whole: settings, the keys that sign, and what was done with them.

create table ragdb.settings (
  key text collate "C" constraint settings_key_is_unique primary key,
  value jsonb not null
);
comment on table ragdb.settings is
  'Settings and counters of the whole database. Only the owner reads and writes them.';
comment on column ragdb.settings.key is
  'Name: allow_test_clock, corpora_created (the last corpus id given out), default_embedder (of '
  'new corpora), last_tick_of and the name of a corpus that was dropped, ledger_is_on, '
  'ledger_origin (the name of the ledger), origin (the id and the name of this database, which '
  'restored copies keep), spaces_created (the last space id given out) or traces_kept_from.';
comment on column ragdb.settings.value is 'Value of the setting.';

create table ragdb.signing_keys (
  key_id text collate "C" constraint signing_keys_id_is_unique primary key
    constraint signing_keys_id_is_a_word check (key_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  commitment bytea not null
    constraint signing_keys_commitment_is_a_sha256 check (length(commitment) = 32),
  is_inside boolean not null,
  state text collate "C" not null
    constraint signing_keys_state_is_known check (state in ('active', 'verify_only', 'revoked')),
  created_at timestamptz not null,
  active_until timestamptz,
  not_after timestamptz,
  compromised_since timestamptz,
  constraint signing_keys_active_has_no_end
    check ((state = 'active') = (active_until is null)),
  constraint signing_keys_compromised_is_revoked
    check (compromised_since is null or state = 'revoked')
);
create unique index signing_keys_one_is_active on ragdb.signing_keys (state) where state = 'active';
comment on table ragdb.signing_keys is
  'HMAC keys that sign admissibility tokens and traces, without their secrets. Read it through '
  'ragdb.list_signing_keys.';
comment on column ragdb.signing_keys.key_id is
  'Name of the key. Every token that it signs contains the name.';
comment on column ragdb.signing_keys.commitment is
  'SHA-256 of the id, the time of creation and the secret. It tells a wrong secret from the right '
  'one.';
comment on column ragdb.signing_keys.is_inside is
  'Whether the secret is kept in this database. The secret of another key is given to each session '
  'that signs or verifies.';
comment on column ragdb.signing_keys.state is
  'active (signs and verifies; at most one key is active), verify_only or revoked.';
comment on column ragdb.signing_keys.created_at is
  'When the key was made, here or in the database that it was imported from.';
comment on column ragdb.signing_keys.active_until is
  'When the key stopped signing; null while it is active.';
comment on column ragdb.signing_keys.not_after is
  'From this time on the key neither signs nor verifies tokens; null for never.';
comment on column ragdb.signing_keys.compromised_since is
  'From this time on nothing that the key signed is to be trusted; null for a key that nobody '
  'reported.';

create table ragdb.signing_secrets (
  key_id text collate "C" constraint signing_secrets_are_unique primary key
    constraint signing_secrets_key_exists references ragdb.signing_keys on delete cascade,
  secret bytea not null
    constraint signing_secrets_are_long_enough check (length(secret) between 32 and 128)
);
comment on table ragdb.signing_secrets is
  'Secrets of the keys that are kept in this database. Only the functions that sign, verify and '
  'export keys read it. The dump of an extension leaves it out.';
comment on column ragdb.signing_secrets.key_id is 'The key.';
comment on column ragdb.signing_secrets.secret is 'Bytes of the key, 32 to 128.';

create table ragdb.key_events (
  event_no bigint constraint key_events_number_is_unique primary key,
  kind text collate "C" not null constraint key_events_kind_is_known
    check (kind in ('created', 'registered', 'imported', 'retired', 'revoked', 'compromised')),
  at timestamptz not null,
  role text collate "C" not null,
  key_id text collate "C" not null,
  commitment bytea not null,
  is_inside boolean not null,
  state text collate "C" not null,
  created_at timestamptz not null,
  active_until timestamptz,
  not_after timestamptz,
  compromised_since timestamptz,
  previous bytea not null,
  hash bytea not null constraint key_events_hash_is_unique unique,
  mac bytea
);
comment on table ragdb.key_events is
  'What was done with signing keys, by whom and when. Append-only. Each event has the hash of the '
  'one before. Read it through ragdb.list_key_events.';
comment on column ragdb.key_events.event_no is 'Number of the event, from 1 without a gap.';
comment on column ragdb.key_events.kind is
  'created (its secret is in the database), registered (its secret is outside), imported, retired '
  '(it only verifies from now on), revoked or compromised.';
comment on column ragdb.key_events.at is 'When it was done.';
comment on column ragdb.key_events.role is 'Database role that did it.';
comment on column ragdb.key_events.key_id is 'The key.';
comment on column ragdb.key_events.commitment is 'Commitment of the key after the event.';
comment on column ragdb.key_events.is_inside is
  'Whether the secret was in this database after the event.';
comment on column ragdb.key_events.state is 'State of the key after the event.';
comment on column ragdb.key_events.created_at is 'When the key was made.';
comment on column ragdb.key_events.active_until is
  'End of its signing after the event; null while it is active.';
comment on column ragdb.key_events.not_after is 'End of its verifying; null for never.';
comment on column ragdb.key_events.compromised_since is
  'Since when it is compromised; null where nobody reported it.';
comment on column ragdb.key_events.previous is
  'Hash of the event before; no byte in the first.';
comment on column ragdb.key_events.hash is 'SHA-256 of the columns before this one.';
comment on column ragdb.key_events.mac is
  'HMAC of the hash by the key itself; null where its secret was not at hand.';

create table ragdb.installed_code (
  kind text collate "C" not null,
  identity text collate "C" not null,
  hash bytea not null,
  object_id bigint,
  server integer not null,
  constraint installed_code_is_unique primary key (kind, identity)
);
comment on table ragdb.installed_code is
  'Functions, views, triggers, constraints, columns, indexes and grants as the installer made '
  'them, for ragdb.verify to compare with.';
comment on column ragdb.installed_code.kind is
  'function, view, trigger, constraint, column, index or grant; functions: those of PostgreSQL.';
comment on column ragdb.installed_code.identity is
  'Name with its types, or what is granted to whom.';
comment on column ragdb.installed_code.hash is 'SHA-256 of its definition.';
comment on column ragdb.installed_code.object_id is
  'Number that the server gave ragdb_internal.present_code(), by which a restored copy is known; '
  'null for all else.';
comment on column ragdb.installed_code.server is 'Major version of PostgreSQL that gave it.';
