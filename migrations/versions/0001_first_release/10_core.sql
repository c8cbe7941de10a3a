-- The database as a whole: settings, and the keys that sign.

create table ragdb.settings (
  key text collate "C" constraint settings_key_is_unique primary key,
  value jsonb not null
);
comment on table ragdb.settings is
  'Settings and counters of the whole database. Only the owner reads and writes them.';
comment on column ragdb.settings.key is
  'Name: allow_test_clock, corpora_created (the last corpus id given out) or traces_kept_from.';
comment on column ragdb.settings.value is 'Value of the setting.';

create table ragdb.signing_keys (
  key_id text collate "C" constraint signing_keys_id_is_unique primary key
    constraint signing_keys_id_is_a_word check (key_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  secret bytea not null
    constraint signing_keys_secret_is_long_enough check (length(secret) between 32 and 128),
  state text collate "C" not null
    constraint signing_keys_state_is_known check (state in ('active', 'verify_only', 'revoked')),
  created_at timestamptz not null,
  active_until timestamptz,
  not_after timestamptz,
  constraint signing_keys_active_has_no_end
    check ((state = 'active') = (active_until is null))
);
create unique index signing_keys_one_is_active on ragdb.signing_keys (state) where state = 'active';
comment on table ragdb.signing_keys is
  'HMAC keys that sign admissibility tokens and traces. Only the functions that sign and verify '
  'read the secrets. The dump of an extension leaves them out. Read it, without the secrets, '
  'through ragdb.list_signing_keys.';
comment on column ragdb.signing_keys.key_id is
  'Name of the key. Every token that it signs contains the name.';
comment on column ragdb.signing_keys.secret is 'Bytes of the key, 32 to 128.';
comment on column ragdb.signing_keys.state is
  'active (signs and verifies; at most one key is active), verify_only or revoked.';
comment on column ragdb.signing_keys.created_at is
  'When the key was made, here or in the database that it was imported from.';
comment on column ragdb.signing_keys.active_until is
  'When the key stopped signing; null while it is active.';
comment on column ragdb.signing_keys.not_after is
  'From this time on the key neither signs nor verifies tokens; null for never.';
