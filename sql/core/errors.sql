-- One table of what can go wrong. Python classes, HTTP statuses and docs/errors.md are made from
-- it.

-- A SQLSTATE of class RG is our contract with callers: they match on it, never on the text.
create or replace function ragdb.error_codes()
returns table (sqlstate text, name text, wire_word text, http_status integer, meaning text)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('RG400', 'InvalidArgument', 'bad_request', 400,
      'an argument is null, of the wrong form or out of range'),
    ('RG401', 'NotAuthorized', 'unauthorized', 401,
      'the caller''s role lacks the right to the corpus'),
    ('RG404', 'CorpusNotFound', 'not_found', 404,
      'no corpus of that name is visible to the caller'),
    ('RG405', 'DocumentNotFound', 'not_found', 404, 'the corpus has no such document or source'),
    ('RG406', 'ChunkNotFound', 'not_found', 404, 'the corpus has no such chunk'),
    ('RG407', 'TraceNotFound', 'not_found', 404, 'no trace of that id is visible to the caller'),
    ('RG408', 'BlobNotFound', 'not_found', 404, 'no blob of that cid is visible to the caller'),
    ('RG409', 'AlreadyExists', 'conflict', 409, 'something of that name exists already'),
    ('RG410', 'InvalidFilter', 'bad_request', 400,
      'a filter has an unknown operator or a value of the wrong type'),
    ('RG411', 'InvalidName', 'bad_request', 400, 'a corpus name is not 1 to 64 of a-z, 0-9 and -'),
    ('RG412', 'InvalidDocument', 'bad_request', 400,
      'a document given to put_documents is incomplete or contradicts itself'),
    ('RG413', 'TooLarge', 'bad_request', 400, 'a value is over the limit that the hint names'),
    ('RG414', 'AppendOnly', 'conflict', 409, 'rows of this table may not be changed or removed'),
    ('RG415', 'ModeNotAvailable', 'bad_request', 400,
      'the corpus cannot be searched in the mode asked for'),
    ('RG416', 'EmbedderNotFound', 'not_found', 404,
      'no embedder of that name is known, or it is bound to no provider'),
    ('RG417', 'EmbedderMismatch', 'conflict', 409,
      'a model, its weights or its dimensions are not those that the corpus is embedded by'),
    ('RG418', 'InvalidEmbedding', 'bad_request', 400,
      'an embedding has another width than its space, or is zero or not finite'),
    ('RG419', 'InTransaction', 'bad_request', 400,
      'a procedure that commits was called inside a transaction block'),
    ('RG420', 'NoAnswer', 'timeout', 408, 'no worker answered in time'),
    ('RG421', 'RerankerNotFound', 'not_found', 404,
      'no reranker of that name is known, or what runs it is not installed'),
    ('RG422', 'RerankerMismatch', 'conflict', 409,
      'the weights of a reranker are not those that it was bound with, or are of no reranker'),
    ('RG423', 'InvalidRerank', 'bad_request', 400,
      'a reranker gave a score that is not finite, or not one for each hit of a trace'),
    ('RG430', 'InvalidPolicy', 'bad_request', 400,
      'a slice policy has an unknown field or a value out of range'),
    ('RG431', 'PolicyNotFound', 'not_found', 404,
      'no slice policy of that reference is registered'),
    ('RG432', 'SigningKeyNotFound', 'not_found', 404, 'there is no signing key of that id'),
    ('RG433', 'NoSigningKey', 'conflict', 409, 'a token was to be signed and no key is active'),
    ('RG434', 'AnchorNotFound', 'not_found', 404,
      'the chunk to build a slice around is not in the corpus'),
    ('RG435', 'SliceNotFound', 'not_found', 404, 'no slice of that id is stored'),
    ('RG436', 'NotAdmissible', 'conflict', 409, 'something claimed to be admissible that is not'),
    ('RG440', 'InvalidContract', 'bad_request', 400,
      'a contract breaks a rule of ragdb.validate_contract'),
    ('RG441', 'ContractNotFound', 'not_found', 404, 'no applied contract, or retriever, rag or '
                                                    'eval of one, has that name and is visible to '
                                                    'the caller'),
    ('RG442', 'InvalidEvaluation', 'bad_request', 400,
      'cases, labels or spans given to an evaluation are incomplete or contradict each other'),
    ('RG443', 'RunNotFound', 'not_found', 404,
      'no evaluation run or baseline of that name is visible to the caller'),
    ('RG444', 'RunFailed', 'conflict', 409, 'an evaluation run did not pass and was asserted to'),
    ('RG445', 'EvidenceMissing', 'conflict', 409,
      'a tool requires evidence, or a citation of every chunk, and what it found has none'),
    ('RG450', 'CapacityExceeded', 'capacity_exceeded', 429,
      'a capability has as many calls of the caller at work as it may'),
    ('RG451', 'RateLimited', 'rate_limited', 429,
      'a role has as many jobs waiting for workers as it may'),
    ('RG452', 'UnreadableBlob', 'bad_request', 400, 'a blob is of a type that no reader knows'),
    ('RG453', 'JobNotFound', 'not_found', 404,
      'no job of that id waits, or it is another worker''s by now'),
    ('RG454', 'TokenNotFound', 'not_found', 404, 'there is no bearer token of that name'),
    ('RG455', 'InvalidImport', 'bad_request', 400,
      'what is imported is no export of a corpus, or not all that its header says'),
    ('RG460', 'InvalidEvidence', 'bad_request', 400, 'evidence is no pack, or an output no object')
  ) as c (sqlstate, name, wire_word, http_status, meaning);
end;
comment on function ragdb.error_codes() is
  'Lists every SQLSTATE of class RG with its class name in Python, its wire word, its HTTP status '
  'and its meaning.';
