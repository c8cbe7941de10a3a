-- What was installed, for ragdb.verify to compare with. The last file: all is there now.

delete from ragdb.installed_code;
insert into ragdb.installed_code (kind, identity, hash, server)
  select p.kind, p.identity, p.hash, current_setting('server_version_num')::integer / 10000
  from ragdb_internal.present_code() p;
