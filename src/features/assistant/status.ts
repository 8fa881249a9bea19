import { isIP } from 'node:net'
import { read } from '../../action.ts'
import { isPublicAddress } from '../../outside/addresses.ts'
import { tokensLeft, usageToday } from './limits.ts'
import { chatReadRule, requireEnabled, teamsWithoutAssistant } from './rows.ts'
import type { AiStatus } from './schema.ts'

/** Says which model answers, where questions go, and how many tokens are left. */
export const status = read('assistant.status', chatReadRule, async (ctx, _: undefined): Promise<AiStatus> => {
  await requireEnabled(ctx)
  const { CHAT_URL, CHAT_MODEL } = ctx.app.config
  const { organizationId, admin } = ctx.actor
  const isOff = organizationId !== null && (await teamsWithoutAssistant(ctx, [organizationId])).has(organizationId)
  return {
    model: CHAT_URL ? (CHAT_MODEL ?? null) : null,
    host: CHAT_URL ? new URL(CHAT_URL).host : null,
    local: CHAT_URL === undefined || isLocal(new URL(CHAT_URL).hostname),
    left: await tokensLeft(ctx),
    team: !isOff,
    ...(admin && { today: await usageToday(ctx) }),
  }
})

/** A name without a dot is one of the local network, such as that of a container. */
function isLocal(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, '')
  if (isIP(name)) return !isPublicAddress(name)
  return !name.includes('.') || /\.(localhost|local|internal)$/.test(name)
}
