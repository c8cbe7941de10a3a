-- What was installed, for ragdb.verify to compare with. The last file: all is there now.

delete from ragdb.installed_code;
insert into ragdb.installed_code (kind, identity, hash, object_id, server)
  select p.kind, p.identity, p.hash, p.object_id, ragdb_internal.server_major()
  from ragdb_internal.present_code() p;
