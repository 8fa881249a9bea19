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

/** At a code host we keep a token of the user; the others receive notifications. */
export const providers = [...codeHosts, 'slack', 'discord', 'webhook'] as const
export type Provider = (typeof providers)[number]

const settings = {
  enabled: bool({ description: 'false: not used for now' }),
  events: array(text(40, { pattern: '^[a-z_]+$', example: 'mention' }), 50, {
    uniqueItems: true,
    description:
      'Which notifications are passed on, by reason (mention, security …) or type (error …); empty: all of them. Not for code hosts',
  }),
  login: nullable(text(100, { example: 'ada', description: 'Whose token it is. For code hosts only' })),
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
  last4: text(4, { example: '9xQz', description: 'The end of its secret' }),
  lastDeliveredAt: nullable(instant()),
  lastError: nullable(text(500, { description: 'Why the last message did not get there' })),
})
export type Integration = Static<typeof Integration>

export const IntegrationSaved = object({
  ...Integration.properties,
  signingKey: optional(
    text(100, {
      description: 'For webhook: checks X-Tutti-Signature. Shown when it is connected, and never again',
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
        'The access token (code hosts), or the https address that gets the messages. Kept sealed, never shown',
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
