import {
  bool,
  email,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  recordFields,
  type Static,
  text,
  url,
} from '../../schema.ts'
import { MailAnswer } from '../mail/schema.ts'

export const providers = ['github', 'google', 'oidc'] as const
export type Provider = (typeof providers)[number]

const provider = oneOf(providers, { description: 'oidc is the OpenID Connect issuer of this server' })
export const ByProvider = object({ provider })

export const SignInWays = object({
  password: bool(),
  code: bool({ description: 'Six digits by e-mail' }),
  magicLink: bool(),
  passkey: bool(),
  registration: oneOf(['open', 'closed']),
  mail: MailAnswer,
  oauth: { ...pageOf(provider).properties.items, description: 'Providers that are set up on this server' },
})
export type SignInWays = Static<typeof SignInWays>

/** Path of a page of this instance: no `//`, backslash or `..`, and percent-encoding only in the query. */
const path =
  '^/(?!api(/|$))(([A-Za-z0-9_~-][A-Za-z0-9_.~-]*/)*[A-Za-z0-9_~-][A-Za-z0-9_.~-]*/?)?(\\?[A-Za-z0-9_.~=&%+:@,-]*)?$'

export const StartQuery = object({
  returnTo: optional(
    text(500, {
      pattern: path,
      example: '/settings/accounts',
      description: 'Where the browser goes afterwards. Default: / after signing in, /settings/accounts after linking',
    }),
  ),
  link: optional(oneOf(['1'], { description: 'Connect the identity to the account you are signed in to' })),
})
export type StartQuery = Static<typeof StartQuery>
export const Started = object({
  location: text(8000, {
    example: 'https://github.com/login/oauth/authorize?…',
    description: 'Address where the user signs in',
  }),
})

/** Additional parameters that providers send; accepted and ignored. */
const ignored = optional(text(4000))
export const CallbackQuery = object({
  code: optional(text(4000)),
  state: optional(text(200, { example: 'svc_one_…' })),
  iss: optional(text(2000, { example: 'https://accounts.google.com' })),
  error: optional(text(200, { example: 'access_denied' })),
  error_description: ignored,
  error_uri: ignored,
  error_subcode: ignored,
  scope: ignored,
  session_state: ignored,
  client_info: ignored,
  hd: ignored,
  prompt: ignored,
  authuser: ignored,
})
export type CallbackQuery = Static<typeof CallbackQuery>

export const ConnectedAccount = object({
  ...recordFields,
  provider,
  email: nullable(email()),
  name: nullable(text(100, { example: 'Ada Lovelace' })),
  avatarUrl: nullable(url({ example: 'https://avatars.githubusercontent.com/u/1' })),
})
export type ConnectedAccount = Static<typeof ConnectedAccount>
export const ConnectedAccountQuery = object(paging('createdAt', 'provider'))
export type ConnectedAccountQuery = Static<typeof ConnectedAccountQuery>
export const ConnectedAccountPage = pageOf(ConnectedAccount)
export type ConnectedAccountPage = Static<typeof ConnectedAccountPage>
