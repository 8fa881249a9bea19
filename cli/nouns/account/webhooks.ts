import { timeAgo } from '../../terminal/times.ts'
import { text, type Verb } from '../noun.ts'
import { listOutput } from '../resource.ts'
import {
  fetchIntegrations,
  findIntegration,
  forwardingFields,
  integrationLines,
  putIntegration,
  removeIntegration,
  testIntegration,
} from './integrations.ts'

/** The integration of a user that sends notifications to an address of their own. There is at most one. */
const WEBHOOK = 'webhook'

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List your webhook and its last delivery',
    aliases: ['ls'],
    examples: ['tutti webhooks list'],
    run: async ({ client }) => {
      const { items, ...page } = await fetchIntegrations(client)
      return listOutput(
        { ...page, items: items.filter(({ provider }) => provider === WEBHOOK) },
        [
          { title: 'Address', of: (w) => `…${w.last4}` },
          { title: 'Enabled', of: (w) => (w.settings.enabled ? 'yes' : 'no') },
          { title: 'Notifications', of: (w) => w.settings.events.join(', ') || 'all' },
          { title: 'Delivered', of: (w) => (w.lastDeliveredAt ? timeAgo(w.lastDeliveredAt) : 'never') },
          { title: 'Problem', of: (w) => w.lastError, wide: true },
        ],
        'No webhook. Create one: tutti webhooks create https://hooks.example.com/tutti',
      )
    },
  },
  {
    name: 'show',
    about: 'Show your webhook',
    examples: ['tutti webhooks show'],
    run: async ({ client }) => {
      const one = await findIntegration(client, WEBHOOK)
      return { value: one, lines: integrationLines(one) }
    },
  },
  {
    name: 'create',
    args: '<address>',
    about: 'Send your notifications to an address ("-" reads standard input); prints the signing key',
    fields: forwardingFields.filter(({ as }) => as === 'events'),
    examples: ['tutti webhooks create https://hooks.example.com/tutti --event mention'],
    run: ({ client, args: [secret], fields }) => putIntegration(client, WEBHOOK, { secret, ...fields }),
  },
  {
    name: 'update',
    about: 'Change the address or the notifications of your webhook',
    fields: [text('--address <url>', 'new address; "-" reads standard input', { as: 'secret' }), ...forwardingFields],
    examples: ['tutti webhooks update --disable', 'tutti webhooks update --event mention --event security'],
    run: async ({ client, fields }) => {
      await findIntegration(client, WEBHOOK)
      return putIntegration(client, WEBHOOK, fields)
    },
  },
  {
    name: 'test',
    about: 'Send a test message',
    examples: ['tutti webhooks test'],
    run: ({ client }) => testIntegration(client, WEBHOOK),
  },
  {
    name: 'delete',
    about: 'Delete your webhook and its key',
    examples: ['tutti webhooks delete'],
    run: ({ client }) => removeIntegration(client, WEBHOOK),
  },
]
