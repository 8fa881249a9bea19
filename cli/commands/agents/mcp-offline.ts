import type { McpToken } from '../../../src/features/tokens/schema.ts'
import { type ServerChoice, signedInClient } from '../../api/profiles.ts'
import { findItem } from '../../api/reference.ts'
import { copyOwner } from '../../copy/client.ts'
import { Copy } from '../../copy/copy.ts'
import { type KnownToken, OfflineAgent } from '../../copy/offline/agent.ts'
import { hasCopy } from '../../copy/owner.ts'
import { exchangeChanges } from '../sync/sync.ts'

export interface OfflineMode {
  agent: OfflineAgent
  /** Sends what was queued, once the server can be reached again. */
  send(): Promise<void>
}

/**
 * Returns the agent that answers from the copy while the server cannot be reached; undefined without a signed-in user,
 * a copy or a known token.
 */
export function createOffline(
  where: ServerChoice,
  tokenId: string | undefined,
  only: { toolsets: readonly string[]; readonly: boolean },
): OfflineMode | undefined {
  if (tokenId === undefined) return undefined
  const who = signedInClient(where)
  const owner = copyOwner(who)
  const { user } = who.profile
  if (!owner || !user || !hasCopy(owner)) return undefined
  const copy = new Copy(owner)
  const token = storedToken(copy, tokenId) ?? {
    id: tokenId,
    scopes: [],
    toolsets: [],
    organizationId: '',
    projectId: null,
    projects: null,
  }
  const { client } = who
  void refreshToken(copy, token, () => findItem<McpToken>(client, '/api/mcp-tokens', 'token', tokenId))
  return {
    agent: new OfflineAgent(copy, user, token, only),
    send: async () => {
      if (copy.queue().length > 0) await exchangeChanges({ client, copy, owner, isCarried: false })
    },
  }
}

const storedToken = (copy: Copy, id: string): KnownToken | undefined => {
  const stored = copy.get(`token ${id}`)
  return stored === undefined ? undefined : (JSON.parse(stored) as KnownToken)
}

/** Stores the current rights of the token. Offline, the last known rights apply; an unknown token has none. */
async function refreshToken(copy: Copy, token: KnownToken, read: () => Promise<McpToken>): Promise<void> {
  const now = await read().catch(() => undefined)
  if (!now) return
  const { scopes, toolsets, organizationId, projectId, projects } = now
  Object.assign(token, { scopes, toolsets, organizationId, projectId, projects })
  copy.set(`token ${token.id}`, JSON.stringify(token))
}
