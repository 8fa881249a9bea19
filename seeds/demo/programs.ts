import { createHash } from 'node:crypto'
import { register } from '../../src/features/grants/clients.ts'
import { exchangeToken } from '../../src/features/grants/exchange.ts'
import { consent, decide } from '../../src/features/grants/service.ts'
import { CLIENT_DOCUMENT } from './code-host.ts'
import { ago, type Moment, type Person, type Step } from './script.ts'

interface Program {
  /** The name under which a step has kept its client id. */
  name: string
  redirectUri: string
  agent: string
  scopes: string[]
}

/** Somebody lets a program in, which fetches its tokens and makes its first call. */
const letsIn = (at: Moment, by: Person, { name, redirectUri, agent, scopes }: Program): Step => ({
  at,
  by,
  run: async (ctx, stage) => {
    const { app, id } = stage
    const verifier = 'a secret of the program, which only the demo knows'.replaceAll(' ', '-')
    const asked = {
      response_type: 'code',
      client_id: id(name),
      redirect_uri: redirectUri,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      scope: scopes.join(' '),
    }
    const { ticket } = await decide(ctx, {
      base: app.url,
      request: new URLSearchParams(asked).toString(),
      decision: 'allow',
      organizationId: id('northlight'),
      agentId: id(agent),
      projectId: id('lantern'),
    })
    const { location } = await consent(ctx, { ticket, base: app.url })
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code: new URL(location).searchParams.get('code') as string,
      client_id: id(name),
      redirect_uri: redirectUri,
      code_verifier: verifier,
    })
    const { access_token } = await exchangeToken(await stage.as('nobody'), app.url, form)
    await app.auth.authenticate(access_token)
    await app.auth.flushUsage()
  },
})

const CALLBACK = 'http://127.0.0.1/callback'

export const programSteps: Step[] = [
  {
    at: ago(6, '09:30'),
    by: 'nobody',
    run: async (ctx, { keep }) => {
      const { id } = await register(ctx, { from: { client_name: 'Claude Code', redirect_uris: [CALLBACK] } })
      keep('program desktop', id)
      keep('program site', CLIENT_DOCUMENT)
    },
  },
  letsIn(ago(6, '09:31'), 'ada', {
    name: 'program desktop',
    redirectUri: CALLBACK,
    agent: 'desktop',
    scopes: ['write'],
  }),
  letsIn(ago(2, '14:05'), 'ada', {
    name: 'program site',
    redirectUri: 'https://reading-room.example/callback',
    agent: 'reviewer',
    scopes: ['read', 'notes:write'],
  }),
]
