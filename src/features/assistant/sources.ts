import type { Ctx } from '../../action.ts'
import { anyOf, idList } from '../../db/columns.ts'
import type { SearchName } from '../../records/names.ts'
import { TEXT } from '../search/answer.ts'
import { passagesFor } from '../search/sources.ts'
import { users } from '../users/table.ts'
import type { Source } from './schema.ts'

/** A source with its text for the model. Only the source itself is stored and shown. */
export interface Material {
  source: Omit<Source, 'number'>
  text: string
  author: string | null
  /** Written by the person who asks. */
  isOwn: boolean
  updatedAt: string | null
}

/** Returns passages that match a question, from records that the asker may read. */
export async function recordsFor(
  ctx: Ctx,
  { query, kinds, projectId, limit }: { query: string; kinds?: SearchName[]; projectId?: string; limit: number },
): Promise<Material[]> {
  // The vector of a question comes from its beginning, and a statement takes only so many words.
  const place = { kinds: kinds?.join(','), projectId }
  const { passages } = await passagesFor(ctx, { words: query.slice(0, 2000), place, limit })
  const names = await namesOf(
    ctx,
    passages.flatMap(({ creatorId }) => creatorId ?? []),
  )
  return passages.map(({ source: { kind, id, title, path, organizationId, text, updatedAt }, creatorId }) => ({
    source: { kind, id, title, path, organizationId, commit: null, lines: null, url: null },
    text: text.slice(0, TEXT),
    author: creatorId === null ? null : (names.get(creatorId) ?? null),
    isOwn: creatorId !== null && creatorId === ctx.actor.userId,
    updatedAt,
  }))
}

async function namesOf(ctx: Ctx, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await ctx.db
    .select({ id: users.id, name: users.name })
    .from(users)
    .where(anyOf(users.id, idList([...new Set(ids)])))
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** The numbered sources of one answer. A source that is found again keeps its number. */
export class Sources {
  readonly all: (Material & { number: number })[] = []

  add(found: readonly Material[]): (Material & { number: number })[] {
    return found.map((material) => {
      const known = this.all.find(({ source }) => isSame(source, material.source))
      if (known) return { ...material, number: known.number }
      const added = { ...material, number: this.all.length + 1 }
      this.all.push(added)
      return added
    })
  }

  get shown(): Source[] {
    return this.all.map(({ number, source }) => ({ number, ...source }))
  }
}

const isSame = (a: Material['source'], b: Material['source']): boolean =>
  a.kind === b.kind && a.id === b.id && a.path === b.path && a.lines === b.lines
