import { withoutSecrets } from '../../../text/secrets.ts'
import type { TunnelUser } from '../../../tunnel/frames.ts'
import { isAllowed } from '../../../tunnel/machine-config.ts'
import type { ActionType, OfferedAction, StoredOffer } from './action-schema.ts'

type Schema = Record<string, unknown>

const params = (properties: Schema, required: readonly string[] = Object.keys(properties)): Schema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const name = (values: readonly string[]): Schema => ({ type: 'string', enum: values })
const text: Schema = { type: 'string' }

const offeredAction = (type: ActionType, description: string, schema: Schema, more: Partial<OfferedAction> = {}) => ({
  type,
  name: null,
  description,
  confirm: false,
  schema,
  ...more,
})

/**
 * Returns the actions that a machine allows this user, as far as the server knows. The machine itself checks each
 * action again.
 */
export function actionsFor(
  offer: StoredOffer & { services?: readonly { name: string; who: string[] }[] },
  user: TunnelUser,
  ownerId: string,
): OfferedAction[] {
  const mine = <T extends { who: string[] }>(list: readonly T[] = []) =>
    list.filter(({ who }) => isAllowed(who, user, ownerId))
  const names = (list: readonly { name: string; who: string[] }[] = []) => mine(list).map(({ name: each }) => each)
  const [services, servers, workspaces] = [names(offer.services), names(offer.mcp), names(offer.workspaces)]
  return [
    offeredAction('ping', 'Check that the machine responds', params({})),
    offeredAction('check_local', 'Check which services respond', params({ service: name(services) }, [])),
    ...(servers.length > 0
      ? [
          offeredAction(
            'list_tools',
            'List the tools of an MCP server on the machine',
            params({ server: name(servers) }),
          ),
          offeredAction(
            'call_tool',
            'Call a tool of an MCP server on the machine',
            params({ server: name(servers), tool: text, arguments: { type: 'object' } }, ['server', 'tool']),
          ),
        ]
      : []),
    ...(workspaces.length > 0
      ? [
          offeredAction(
            'sync_workspace',
            'Bring a git working copy up to date, by a fast-forward',
            params({ workspace: name(workspaces) }),
          ),
        ]
      : []),
    ...mine(offer.commands).map((command) =>
      offeredAction(
        'run_command',
        command.description ?? `Run ${command.name}`,
        params({ command: { const: command.name }, params: command.params }, [
          'command',
          ...(isEmpty(command.params) ? [] : ['params']),
        ]),
        { name: command.name, confirm: command.confirm },
      ),
    ),
    offeredAction('cancel', 'End an action', params({ actionId: { type: 'string', format: 'uuid' } })),
  ]
}

const isEmpty = ({ required }: Schema): boolean => !Array.isArray(required) || required.length === 0

/** Returns the target of an action, for lists. */
export function nameOf(type: ActionType, given: Schema): string | null {
  const parts: Partial<Record<ActionType, unknown[]>> = {
    run_command: [given.command],
    sync_workspace: [given.workspace],
    check_local: [given.service],
    list_tools: [given.server],
    call_tool: [given.server, given.tool],
  }
  const known = (parts[type] ?? []).filter((part) => typeof part === 'string' && part !== '')
  return known.length > 0 ? withoutSecrets(known.join('/')).slice(0, 200) : null
}

const MASK = '[redacted]'
const secretKey = /pass|secret|token|credential|authorization|api_?key|private/i

/** Returns the parameters for the history, without values that are secret by declaration, name or form. */
export function redactParams(type: ActionType, given: Schema, { commands = [] }: StoredOffer): Schema {
  const declared = type === 'run_command' ? commands.find((each) => each.name === given.command)?.secret : undefined
  const hide = (value: unknown, key: string, depth: number): unknown => {
    if (depth > 20 || secretKey.test(key) || (depth === 2 && declared?.includes(key))) return MASK
    if (typeof value === 'string') return withoutSecrets(value)
    if (Array.isArray(value)) return value.map((item) => hide(item, '', depth + 1))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([inner, item]) => [inner, hide(item, inner, depth + 1)]))
  }
  return hide(given, '', 0) as Schema
}
