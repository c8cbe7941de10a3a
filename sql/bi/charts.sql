-- Charts of text, for reports in a terminal: a bar, and a sparkline.

create or replace function bi.bar(value float8, highest float8, width integer default 20)
returns text
language sql immutable parallel safe
begin atomic
  select pg_catalog.repeat('█', b.eighths / 8)
      || pg_catalog.substr('▏▎▍▌▋▊▉', greatest(1, b.eighths % 8), (b.eighths % 8 > 0)::integer)
    from (select case
        -- what is there is seen
        when value > 0 then greatest(1, pg_catalog.round(8 * least(200, width)
          * least(1, value / nullif(highest, 0))))::integer
        when value <= 0 then 0 end as eighths) b
    where highest > 0 and width > 0;
end;
comment on function bi.bar is
  'Returns a bar for a value of 0 to highest, up to width characters (at most 200) long; null for '
  'a null, and where highest is not positive.';

create or replace function bi.sparkline(points float8[]) returns text
language sql immutable parallel safe
begin atomic
  select pg_catalog.string_agg(case
        when p.point is null then '·'
        when r.high > r.low then pg_catalog.substr('▁▂▃▄▅▆▇█',
          1 + pg_catalog.round(7 * (p.point - r.low) / (r.high - r.low))::integer, 1)
        else '▁' end, '' order by p.n)
    from pg_catalog.unnest(points) with ordinality p (point, n)
    cross join (select least(0, min(q.point)) as low, max(q.point) as high
      from pg_catalog.unnest(points) q (point)) r;
end;
comment on function bi.sparkline is
  'Returns a character for each point, from 0 or the lowest one to the highest; a dot for a null.';
