-- The text configurations that a corpus may have, and the language that each is for.

-- Lists the text configurations a corpus may have, each with its language code; simple is for no
-- language. Those of every version of PostgreSQL from 16 on.
create or replace function ragdb_internal.text_configs()
returns table (config text, language text)
language sql immutable parallel safe
begin atomic
  select c.config, c.language
  from (values
    ('arabic', 'ar'), ('armenian', 'hy'), ('basque', 'eu'), ('catalan', 'ca'), ('danish', 'da'),
    ('dutch', 'nl'), ('english', 'en'), ('finnish', 'fi'), ('french', 'fr'), ('german', 'de'),
    ('greek', 'el'), ('hindi', 'hi'), ('hungarian', 'hu'), ('indonesian', 'id'), ('irish', 'ga'),
    ('italian', 'it'), ('lithuanian', 'lt'), ('nepali', 'ne'), ('norwegian', 'no'),
    ('portuguese', 'pt'), ('romanian', 'ro'), ('russian', 'ru'), ('serbian', 'sr'),
    ('simple', null), ('spanish', 'es'), ('swedish', 'sv'), ('tamil', 'ta'), ('turkish', 'tr'),
    ('yiddish', 'yi')) c (config, language);
end;

-- Returns the dictionary of a text configuration for words that are not all of ASCII letters.
create or replace function ragdb_internal.word_dictionary(config text) returns regdictionary
language sql stable parallel safe
return (case when config = 'simple' then config else config || '_stem' end)::regdictionary;

-- Returns the dictionary of a text configuration for words in ASCII letters.
create or replace function ragdb_internal.ascii_dictionary(config text) returns regdictionary
language sql stable parallel safe
return case when config in ('hindi', 'russian') then 'english_stem'::regdictionary
  else ragdb_internal.word_dictionary(config) end;

create or replace function ragdb.list_text_configs()
returns table (text_config text, language text)
language sql immutable parallel safe security definer
begin atomic
  select c.config, c.language from ragdb_internal.text_configs() c order by c.config;
end;
comment on function ragdb.list_text_configs is
  'Lists the text configurations that a corpus may have, each with the code of the language whose '
  'words it stems (simple stems none: null).';

-- Returns the language code that a text configuration is for; null for simple.
create or replace function ragdb_internal.config_language(text_config text) returns text
language sql immutable parallel safe
return (
  select c.language from ragdb_internal.text_configs() c
  where c.config = config_language.text_config);
