import { notFound } from '../../../src/errors.ts'
import type {
  Integration,
  IntegrationPage,
  IntegrationSaved,
  Tested,
} from '../../../src/features/integrations/schema.ts'
import type { Client } from '../../api/client.ts'
import { pathTo } from '../../api/reference.ts'
import { recordLines, safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { timeAgo } from '../../terminal/times.ts'
import { type CommandOutput, clearable, eitherOf, type Field, flag, many, outputOf, text, type Verb } from '../noun.ts'
import { listOutput } from '../resource.ts'

const PATH = '/api/settings/integrations/user'
const providers = ['github', 'gitea', 'gitlab', 'slack', 'discord', 'webhook']

/** Returns the services that the user has connected. */
export const fetchIntegrations = (client: Client): Promise<IntegrationPage> => client.get<IntegrationPage>(PATH)

export const integrationLines = (one: Integration): string[] =>
  recordLines({
    Provider: one.provider,
    Enabled: one.settings.enabled ? 'yes' : 'no',
    Secret: `…${one.last4}`,
    Address: one.settings.url,
    Login: one.settings.login,
    Notifications: isCodeHost(one.provider) ? null : one.settings.events.join(', ') || 'all',
    Delivered: one.lastDeliveredAt && timeAgo(one.lastDeliveredAt),
    Problem: one.lastError,
    Updated: timeAgo(one.updatedAt),
  })
const isCodeHost = (provider: string): boolean => providers.indexOf(provider) < 3

export async function findIntegration(client: Client, provider: string): Promise<Integration> {
  const found = (await fetchIntegrations(client)).items.find((one) => one.provider === provider)
  if (!found) throw notFound('integration', provider)
  return found
}

/** Switches and filters of services that receive notifications. */
export const forwardingFields: Field[] = [
  flag('--enable', 'forward notifications again'),
  flag('--disable', 'stop forwarding notifications'),
  many('--event <reason>', 'only notifications of this reason or type, such as mention', 'events'),
]

/** Connects a service or changes its settings. */
export async function putIntegration(
  client: Client,
  provider: string | undefined,
  { secret, enable, disable, ...settings }: Record<string, unknown>,
): Promise<CommandOutput> {
  if (enable && disable) throw new Refusal('Use either --enable or --disable.')
  const changed = { ...settings, ...(enable ? { enabled: true } : disable ? { enabled: false } : {}) }
  const saved = await client.request<IntegrationSaved>('PUT', pathTo(`${PATH}/:provider`, provider), {
    ...(secret !== undefined && { secret }),
    ...(Object.keys(changed).length > 0 && { settings: changed }),
  })
  const { signingKey } = saved
  return {
    value: saved,
    lines: [...integrationLines(saved), ...(signingKey ? ['', `Signing key  ${safeLine(signingKey)}`] : [])],
    note: signingKey && 'The key is shown only once. The receiver needs it to verify the header X-Tutti-Signature.',
  }
}

export async function testIntegration(client: Client, provider: string | undefined): Promise<CommandOutput> {
  const tested = await client.post<Tested>(pathTo(`${PATH}/:provider/test`, provider))
  return outputOf(
    tested,
    tested.delivered
      ? 'Test message delivered.'
      : `Test message not delivered: ${safeLine(tested.error ?? 'no reason given')}`,
  )
}

export const removeIntegration = async (client: Client, provider: string | undefined): Promise<CommandOutput> =>
  outputOf(await client.request('DELETE', pathTo(`${PATH}/:provider`, provider)), `Disconnected ${provider}.`)

const codeHostFields: Field[] = [
  text('--url <address>', 'web address of the code host that the token is for'),
  clearable(text('--login <name>', 'user name that the token belongs to')),
]

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List the services that you have connected',
    aliases: ['ls'],
    examples: ['tutti integrations list'],
    run: async ({ client }) =>
      listOutput(
        await fetchIntegrations(client),
        [
          { title: 'Provider', of: (i) => i.provider },
          { title: 'Enabled', of: (i) => (i.settings.enabled ? 'yes' : 'no') },
          { title: 'Secret', of: (i) => `…${i.last4}` },
          { title: 'Problem', of: (i) => i.lastError, wide: true },
        ],
        `No services. Connect one: tutti integrations create ${eitherOf(providers)}`,
      ),
  },
  {
    name: 'show',
    args: '<provider>',
    about: 'Show a service that you have connected',
    examples: ['tutti integrations show github'],
    run: async ({ client, args }) => {
      const one = await findIntegration(client, args[0] as string)
      return { value: one, lines: integrationLines(one) }
    },
  },
  {
    name: 'create',
    args: '<provider>',
    about: `Connect a service: ${eitherOf(providers)}`,
    aliases: ['connect'],
    fields: [
      text('--secret <text>', 'access token, or address that receives the messages; "-" reads standard input', {
        required: true,
      }),
      ...forwardingFields.filter(({ as }) => as === 'events'),
      ...codeHostFields,
    ],
    examples: [
      'tutti integrations create github --secret - < token',
      'tutti integrations create slack --secret - --event mention < address',
    ],
    run: ({ client, args, fields }) => putIntegration(client, args[0], fields),
  },
  {
    name: 'update',
    args: '<provider>',
    about: 'Change the settings of a service',
    fields: [
      text('--secret <text>', 'new token or address; "-" reads standard input'),
      ...forwardingFields,
      ...codeHostFields,
    ],
    examples: ['tutti integrations update slack --disable', 'tutti integrations update github --secret - < token'],
    run: async ({ client, args, fields }) => {
      await findIntegration(client, args[0] as string)
      return putIntegration(client, args[0], fields)
    },
  },
  {
    name: 'test',
    args: '<provider>',
    about: 'Send a test message',
    examples: ['tutti integrations test slack'],
    run: ({ client, args }) => testIntegration(client, args[0]),
  },
  {
    name: 'delete',
    args: '<provider>',
    about: 'Disconnect a service and delete its secret',
    aliases: ['disconnect'],
    examples: ['tutti integrations delete slack'],
    run: ({ client, args }) => removeIntegration(client, args[0]),
  },
]
