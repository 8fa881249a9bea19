import { Database } from 'bun:sqlite'
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { AppError } from '../../src/errors.ts'

const FORMAT = 1
/** How long a process waits for another one that writes to the copy. */
const BUSY_MS = 10_000

const schema = `
  create table meta (name text primary key, value text not null) without rowid;
  create table containers (name text primary key) without rowid;
  -- shadow: the record as the last pull gave it. mine: with the queued changes on top of it; null if there are none.
  create table records (
    n integer primary key, entity text not null, id text not null, container text, container2 text,
    version integer not null default 0, shadow text, mine text, gone integer not null default 0, unique (entity, id));
  create index records_container on records (container);
  create index records_container2 on records (container2) where container2 is not null;
  -- state: new (may still be changed), sent (may have reached the server), acked (the server has judged it).
  create table queue (
    seq integer primary key autoincrement, mutationId text not null unique, entity text not null, id text not null,
    op text not null, fields text not null, base text not null, at text not null, via text,
    creates integer not null, state text not null default 'new');
  create index queue_record on queue (entity, id);
  create table rejected (
    mutationId text primary key, entity text not null, id text not null, op text not null, fields text not null,
    base text not null, at text not null, via text, creates integer not null, code text not null, detail text not null,
    rejectedAt text not null);
  create table receipts (mutationId text primary key, status text not null, receipt text not null, at text not null);
  create table conflicts (id text primary key, conflict text not null);
  -- Names of records that the server has not numbered yet: MY-~3f2a.
  create table names (name text primary key, entity text not null, id text not null) without rowid;
  create virtual table words using fts5 (
    title, text, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2");
  insert into words (words, rank) values ('secure-delete', 1);
  pragma user_version = ${FORMAT};
`

/** Opens the copy, or creates an empty one that only its owner can read. */
export function openCopyFile(path: string): Database {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // SQLite gives its journal the permissions of the file.
  closeSync(openSync(path, 'a', 0o600))
  chmodSync(path, 0o600)
  const db = new Database(path, { strict: true })
  try {
    db.run(`pragma busy_timeout = ${BUSY_MS}`)
    db.run('pragma journal_mode = wal')
    // A queued change must survive a power cut, like any change that was acknowledged.
    db.run('pragma synchronous = full')
    // What the server takes back must also leave the disk: text of a deleted row would stay in free pages of the file.
    db.run('pragma secure_delete = on')
    createTables(db, path)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function createTables(db: Database, path: string): void {
  // Immediate, so that of two processes that find an empty file one creates the tables and the other waits.
  const create = db.transaction(() => {
    const format = (db.query('pragma user_version').get() as { user_version: number }).user_version
    if (format === 0) db.run(schema)
    else if (format !== FORMAT)
      throw new AppError(
        'conflict',
        `${path} was written by another version of this program. Upgrade it: tutti upgrade`,
      )
  })
  create.immediate()
}
