import type { Ctx } from '../../action.ts'
import { invalid } from '../../errors.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import { type Agent, PROMPT_BYTES } from './schema.ts'

/** Requires that the plan of the team has room for an agent. Personal and archived ones do not count. */
export async function requireRoomFor(
  ctx: Ctx,
  { organizationId, status }: Pick<Agent, 'organizationId' | 'status'>,
): Promise<void> {
  if (organizationId && status === 'active') await requirePlanRoom(ctx, organizationId, 'agents')
}

export function checkPrompt(prompt: string | null | undefined): void {
  if (prompt && Buffer.byteLength(prompt) > PROMPT_BYTES)
    throw invalid('/systemPrompt', 'systemPrompt exceeds 64 KiB.', 'too_long')
}
