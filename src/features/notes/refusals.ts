import type { Ctx } from '../../action.ts'
import {
  includePermissions,
  member,
  type Permission,
  permissionOf,
  type Refusal,
  roleRefusal,
  ruleRefusal,
} from '../../auth/policy.ts'
import { writerRefusal } from '../projects/rows.ts'
import type { Note, NoteRead } from './schema.ts'

export const noteWriteRule = member('notes:write')

/** Returns why the caller may not change a note that they see, or undefined. Authors may change personal notes. */
export const changeRefusal = async (ctx: Ctx, { organizationId, projectId }: Note): Promise<Refusal | undefined> =>
  organizationId ? writerRefusal(ctx, { organizationId, projectId }, 'Changing this note') : undefined

/** Only members of its own team may change who sees a note: rights through a shared workspace are not enough. */
export const scopeRefusal = (ctx: Ctx, { organizationId }: Pick<Note, 'organizationId'>): Refusal | undefined =>
  organizationId
    ? roleRefusal(ctx.actor, organizationId, 'member', 'Moving a note out of its team or changing its scope')
    : undefined

const byPolicy = (ctx: Ctx, action: string) => ruleRefusal(ctx.actor, noteWriteRule, `notes.${action}`, ctx.app.clock)

/** Returns a note with what the caller may do with it. */
export async function withPermissions(ctx: Ctx, note: Note): Promise<NoteRead> {
  const refusal = byPolicy(ctx, 'update') ?? (await changeRefusal(ctx, note))
  const change = permissionOf(refusal)
  const can = () => ({ update: change, publish: permissionOf(refusal ?? scopeRefusal(ctx, note)), remove: change })
  return { ...note, ...includePermissions(ctx.actor, can) }
}

export const canCreate = (ctx: Ctx): { create: Permission } => ({ create: permissionOf(byPolicy(ctx, 'create')) })
