import { desc, sql } from 'drizzle-orm'
import { rightsOf } from '../auth/rights.ts'
import type { Subject } from '../errors.ts'
import { editDistance, isSimilar } from '../text/similarity.ts'
import type { RecordName } from './names.ts'
import { mayRead, type QueryingReader } from './readable.ts'

/** How many records, last changed first, are compared with a name that does not exist. */
const COMPARED = 200
const MOST = 3

/**
 * Returns readable keys or slugs that are similar to a reference that was not found, the most similar first. For a
 * task, only the key of its project is compared.
 */
export async function findSimilarNames(ctx: QueryingReader, { kind, ref }: Subject): Promise<string[]> {
  const project = kind === 'task' ? /^([a-z]{1,10})-\d+$/i.exec(ref.trim())?.[1] : undefined
  if (project === undefined) return kind === 'task' ? [] : among(ctx, kind, ref.trim())
  const keys = await among(ctx, 'project', project)
  return keys.filter((key) => key !== project.toUpperCase()).map((key) => `a task of ${key}`)
}

async function among(ctx: QueryingReader, kind: string, wanted: string): Promise<string[]> {
  const record = ctx.app.records.find(kind)
  if (!record?.key || wanted.length > 100 || !mayRead(ctx, kind as RecordName)) return []
  const { table, key, title, visible } = record
  const rows = await ctx.db
    .select({ key: sql<string>`${key}`, title: sql<string | null>`${title}` })
    .from(table)
    .where(visible(rightsOf(ctx.actor)))
    .orderBy(desc(table.updatedAt))
    .limit(COMPARED)
  const slips = (row: (typeof rows)[number]) =>
    Math.min(...[row.key, row.title ?? row.key].map((name) => editDistance(name.toLowerCase(), wanted.toLowerCase())))
  return rows
    .filter((row) => isSimilar(wanted, row.key) || isSimilar(wanted, row.title ?? '') || isSimilar(row.key, wanted))
    .toSorted((a, b) => slips(a) - slips(b))
    .slice(0, MOST)
    .map((row) => row.key)
}
