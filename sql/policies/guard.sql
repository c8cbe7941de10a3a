create or replace trigger slice_policies_are_immutable
  before update or delete on ragdb.slice_policies
  for each row execute function ragdb_internal.refuse_change();

create or replace trigger slice_policies_are_not_truncated
  before truncate on ragdb.slice_policies
  for each statement execute function ragdb_internal.refuse_change();

alter table ragdb.slice_policies enable always trigger slice_policies_are_immutable;

alter table ragdb.slice_policies enable always trigger slice_policies_are_not_truncated;
