-- Text: how words become lexemes, and the tokens and hash of the reference ranking.

-- Marked immutable because the dictionaries are those of pg_catalog, which a major version fixes.
create or replace function ragdb._lexemes(text text, config text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return to_tsvector(config::regconfig, lower(normalize(text, nfkc)));
end $$;
comment on function ragdb._lexemes(text, text) is
  'Returns the lexemes of a text with their positions in word order, by the rules of a text configuration; chunks and queries alike.';
