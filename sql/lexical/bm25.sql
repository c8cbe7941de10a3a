-- BM25, the formula, written once.
--
-- For each term of the query a chunk scores the term's weight (its idf times its frequency in the
-- query) times its impact in the chunk. The impact grows with the term's frequency in the chunk and
-- stays below k1 + 1; the longer a chunk is than the pivot, the slower it grows. None of these
-- functions is ever called: each is inlined into the statement that names it.

-- Returns the inverse document frequency of a term that df of some chunks have; it is over 0.
create or replace function ragdb_internal.idf(chunks integer, df integer) returns float8
language sql immutable parallel safe
return pg_catalog.ln(1 + (idf.chunks - idf.df + 0.5::float8) / (idf.df + 0.5::float8));

-- Returns the idf of a term that df of some texts have, which may be few; it is over 0. What four
-- texts lack is not rare: fifty that have no term at all are counted with them.
create or replace function ragdb_internal.cautious_idf(texts integer, df integer) returns float8
language sql immutable parallel safe
return ragdb_internal.idf(texts + 50, df);

-- Returns what the length of a chunk adds to a term's frequency in the denominator of its impact.
create or replace function ragdb_internal.length_norm(
  length float8, k1 float8, b float8, pivot float8)
returns float8
language sql immutable parallel safe
return length_norm.k1
  * (1 - length_norm.b + length_norm.b * length_norm.length / length_norm.pivot);

-- Returns the impact (0 to k1 + 1) of a term with a frequency in a chunk with a length norm, times
-- weight.
create or replace function ragdb_internal.impact(
  frequency float8, norm float8, k1 float8, weight float8 default 1)
returns float8
language sql immutable parallel safe
return impact.weight * (impact.k1 + 1) * impact.frequency / (impact.frequency + impact.norm);

-- Returns the frequency that a term with a stored impact has in a chunk with a length norm; the
-- inverse of ragdb_internal.impact. Exact: an impact is kept as a float4, and it is made of a small
-- whole number, the frequency.
create or replace function ragdb_internal.frequency(impact float8, norm float8, k1 float8)
returns float8
language sql immutable parallel safe
return greatest(1, pg_catalog.round(
  frequency.impact * frequency.norm / nullif(frequency.k1 + 1 - frequency.impact, 0)));
