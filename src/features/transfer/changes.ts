import type { Ctx } from '../../action.ts'
import type { FieldKind } from '../../records/sync.ts'
import type { Spec } from '../specs/schema.ts'
import { storeVersion } from '../specs/versions.ts'
import { mergeField } from '../sync/merge.ts'
import { entityNamed } from './entities.ts'

/** What a later import changes in records that were imported before. */

type Fields = Record<string, unknown>
export type FieldKinds = Readonly<Record<string, FieldKind>>

export const fieldsOf = (entity: string, fields: FieldKinds): FieldKinds => ({
  ...fields,
  ...entityNamed(entity).fields,
})

/** Fields that are taken together with another. */
const companions: Readonly<Record<string, readonly string[]>> = {
  status: ['startedAt', 'completedAt', 'completedByType', 'archivedAt', 'supersededById'],
  assigneeId: ['assigneeType'],
}

/** Compares three versions of a record: the last import, the stored one, and the new import. */
export function mergeImport(
  fields: FieldKinds,
  base: Fields,
  here: Fields,
  there: Fields,
): { taken: Fields; conflicts: string[] } {
  const taken: Fields = {}
  const conflicts: string[] = []
  for (const [name, kind] of Object.entries(fields)) {
    const result = mergeField(kind, base[name] ?? null, here[name] ?? null, there[name] ?? null)
    if (result === 'conflict') conflicts.push(name)
    else if (result.how !== 'unchanged') {
      taken[name] = result.value
      for (const one of companions[name] ?? []) if (one in there) taken[one] = there[one]
    }
  }
  return { taken, conflicts }
}

const levels = ['reported', 'missing', 'observed', 'verified']
const rank = (level: unknown): number => levels.indexOf(String(level))

export const nameOf = ({ title, name }: Fields): string | null => {
  const found = title ?? name
  return typeof found === 'string' ? found : null
}

/** Entities that are replaced by a newer version, not merged by fields: their columns, and the test for newer. */
const newerRules: Readonly<Record<string, { columns: readonly string[]; than(here: Fields, there: Fields): boolean }>> =
  {
    comment: {
      columns: ['body', 'asks', 'editedAt', 'version'],
      than: (here, there) => Number(there.version) > Number(here.version),
    },
    gateEvidence: {
      columns: ['level', 'missing', 'reopenedAt', 'verifiedById', 'verifiedByName', 'verifiedAt'],
      than: (here, there) =>
        rank(there.level) > rank(here.level) ||
        (there.level === here.level && Boolean(there.reopenedAt) && !here.reopenedAt),
    },
  }

/** Returns the changes to a part that is stored already, or undefined. `parent` is the column of its record. */
export function newerPart(entity: string, parent: string, here: Fields, there: Fields): Fields | undefined {
  const rule = newerRules[entity]
  if (!rule || here[parent] !== there[parent] || !rule.than(here, there)) return undefined
  return Object.fromEntries(rule.columns.map((name) => [name, there[name]]))
}

/**
 * Returns the version of a spec after an import, which is the number of its latest entry. A state that only this server
 * has gets an entry of its own; the import contains the others.
 */
export async function specVersion(ctx: Ctx, here: Fields, there: Fields, after: Fields): Promise<number> {
  const isTheirs = ['title', 'content', 'status'].every((name) => after[name] === there[name])
  const [mine, theirs] = [Number(here.version), Number(there.version)]
  if (isTheirs && theirs > mine) return theirs
  const version = Math.max(mine, theirs) + 1
  await storeVersion(ctx, { ...after, version } as Spec, 'Merged with an import')
  return version
}
