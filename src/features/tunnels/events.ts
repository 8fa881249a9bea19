import { defineEvent, number, text, texts } from '../../events/catalogue.ts'

const ofTunnel = { kind: 'tunnel', scope: 'tunnels:read', feed: 'access' } as const
const data = { name: text, slug: text }
const phraseOf = (action: unknown, named: unknown): string => [action, named].filter(Boolean).join(' ')

export const tunnelRegistered = defineEvent('tunnel.registered', {
  ...ofTunnel,
  description: 'A tunnel was registered, or a new machine was allowed to claim it',
  data,
})
export const tunnelClaimed = defineEvent('tunnel.claimed', {
  ...ofTunnel,
  description: 'A machine claimed a tunnel; the credential of the earlier machine was revoked',
  changes: 'rights',
  data: { ...data, userId: text },
})
export const tunnelUpdated = defineEvent('tunnel.updated', {
  ...ofTunnel,
  description: 'A tunnel changed',
  data: { ...data, fields: texts },
})
export const tunnelDeleted = defineEvent('tunnel.deleted', {
  ...ofTunnel,
  deletes: true,
  description: 'A tunnel was deleted and its machine disconnected',
  changes: 'rights',
  data: { ...data, userId: text },
})
const ofAction = { ...data, actionId: text, action: text, what: text }
export const tunnelActionRequested = defineEvent('tunnel.action_requested', {
  ...ofTunnel,
  description: 'Someone requested an action on the machine of a tunnel',
  data: ofAction,
  words: (what, { action, what: named }) => `requested ${phraseOf(action, named)} on ${what}`,
})
export const tunnelActionFinished = defineEvent('tunnel.action_finished', {
  ...ofTunnel,
  description: 'An action on the machine of a tunnel has ended',
  data: { ...ofAction, state: text },
  words: (what, { action, what: named, state }) => `ended ${phraseOf(action, named)} on ${what}: ${state}`,
})
export const tunnelOnline = defineEvent('tunnel.online', {
  ...ofTunnel,
  description: 'The machine of a tunnel connected',
  data: { ...data, generation: number },
  words: (what) => `connected ${what}`,
})
export const tunnelOffline = defineEvent('tunnel.offline', {
  ...ofTunnel,
  description: 'The machine of a tunnel is no longer connected',
  data: { ...data, generation: number },
  words: (what) => `disconnected ${what}`,
})
export const tunnelToolCalled = defineEvent('tunnel.tool_called', {
  ...ofTunnel,
  description: 'An agent called a tool of an MCP server on the machine of a tunnel',
  data: { ...data, server: text, tool: text },
  words: (what, { server, tool }) => `called ${tool} of ${server} on ${what}`,
})
