-- Errors: failed retrievals by error.
select error_code, max(e.error) as error, sum(retrievals) as retrievals, count(distinct corpus) as corpora,
  max(bucket_at) as last_at, max(e.meaning) as meaning
from :counts left join bi.dim_error e using (error_code)
where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
  and corpus in (:corpora)
  and error_code is not null
group by error_code order by retrievals desc, error_code
