import { codeHosts } from '../../outside/codehosts/schema.ts'
import {
  array,
  bool,
  instant,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  partial,
  recordFields,
  type Static,
  text,
  url,
} from '../../schema.ts'

/** For code hosts we store a token of the user; the other providers receive notifications. */
export const providers = [...codeHosts, 'slack', 'discord', 'webhook'] as const
export type Provider = (typeof providers)[number]

const settings = {
  enabled: bool(),
  events: array(text(40, { pattern: '^[a-z_]+$', example: 'mention' }), 50, {
    uniqueItems: true,
    description:
      'Notifications to forward, by reason (mention, security …) or type (error …); empty: all. Not for code hosts',
  }),
  login: nullable(
    text(100, { example: 'ada', description: 'User name that the token belongs to. For code hosts only' }),
  ),
  url: optional(
    nullable(
      url({
        example: 'https://git.example.com',
        description: 'Web address of the code host that the token is for. For code hosts only',
      }),
    ),
  ),
}
export const Settings = object(settings)
export type Settings = Static<typeof Settings>

export const Integration = object({
  ...recordFields,
  provider: oneOf(providers),
  settings: Settings,
  last4: text(4, { example: '9xQz', description: 'Last characters of the secret' }),
  lastDeliveredAt: nullable(instant()),
  lastError: nullable(text(500, { description: 'Error of the last delivery' })),
})
export type Integration = Static<typeof Integration>

export const IntegrationSaved = object({
  ...Integration.properties,
  signingKey: optional(
    text(100, {
      description: 'For webhook: key to verify X-Tutti-Signature. Returned only once, when it is connected',
      example: 'whsec_…',
    }),
  ),
})
export type IntegrationSaved = Static<typeof IntegrationSaved>

export const IntegrationPut = object({
  secret: optional(
    text(2000, {
      minLength: 8,
      description:
        'Access token (code hosts), or https address that receives the messages. Stored encrypted, never returned',
      example: 'https://hooks.example.com/services/tutti',
    }),
  ),
  settings: optional(partial(Settings)),
})
export type IntegrationPut = Static<typeof IntegrationPut>

export const IntegrationPage = pageOf(Integration)
export type IntegrationPage = Static<typeof IntegrationPage>

export const Tested = object({ delivered: bool(), error: nullable(text(500)) })
export type Tested = Static<typeof Tested>
