// Written by `bun run migration`.
import type { Migration } from '../src/db/migrate.ts'
import m1 from './0001_init.sql' with { type: 'text' }
import m2 from './0002_identity.sql' with { type: 'text' }

export const migrations: Migration[] = [
  { id: '0001_init', sql: m1 },
  { id: '0002_identity', sql: m2 },
]
