import { expect } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import type { GrantDecision, GrantRequested, GrantTicket } from '../../src/features/grants/schema.ts'
import { type Answer, call, type Person, type TestApp } from '../support/app.ts'
import { network } from './devices-support.ts'

/** The answer of the token endpoint. */
export interface Tokens {
  access_token: string
  refresh_token: string
  expires_in: number
  scope: string
  token_type: string
}
export interface Refused {
  error: string
  error_description: string
}

export const CALLBACK = 'http://127.0.0.1:7777/callback'

/** The person whom a program asks. */
type Asked = Pick<Person, 'token' | 'organizationId' | 'fetch'>

/** A program of an agent, and the person in front of it. */
export class Program {
  readonly verifier = randomBytes(32).toString('base64url')
  readonly challenge = createHash('sha256').update(this.verifier).digest('base64url')

  constructor(
    readonly t: Pick<TestApp, 'url'>,
    readonly clientId: string,
    readonly redirectUri = CALLBACK,
  ) {}

  static async registered(t: Pick<TestApp, 'url'>, metadata: object = {}): Promise<Program> {
    const { status, body } = await call<{ client_id: string }>(
      t,
      'POST',
      '/oauth/register',
      { client_name: 'Robot', redirect_uris: ['http://127.0.0.1/callback'], ...metadata },
      network(),
    )
    expect(status).toBe(201)
    return new Program(t, body.client_id)
  }

  /** The query with which it sends the person to the server. */
  query(more: Record<string, string | undefined> = {}): string {
    const all = {
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      state: 'st/ate=1',
      code_challenge: this.challenge,
      code_challenge_method: 'S256',
      scope: 'read write',
      ...more,
    }
    return new URLSearchParams(
      Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ).toString()
  }

  open(query = this.query()): Promise<Response> {
    return fetch(`${this.t.url}/oauth/authorize?${query}`, { redirect: 'manual', headers: network() })
  }

  look(who: Asked, query = this.query()): Promise<Answer<GrantRequested>> {
    return who.fetch('POST', '/api/settings/grants/look', { request: query })
  }

  decide(who: Asked, choice: Partial<GrantDecision> = {}): Promise<Answer<GrantTicket>> {
    const body = { request: this.query(), decision: 'allow', organizationId: who.organizationId, ...choice }
    return who.fetch('POST', '/api/settings/grants/decide', body)
  }

  async consent(who: Asked | undefined, ticket: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.t.url}/oauth/consent`, {
      method: 'POST',
      redirect: 'manual',
      headers: { ...(who && { authorization: `Bearer ${who.token}` }), ...network(), ...headers },
      body: new URLSearchParams({ ticket }),
    })
  }

  /** The query with which the browser is redirected back. */
  async answered(who: Asked, choice: Partial<GrantDecision> = {}): Promise<URLSearchParams> {
    const decided = await this.decide(who, choice)
    expect(decided.status).toBe(200)
    const response = await this.consent(who, decided.body.ticket)
    expect(response.status).toBe(303)
    return new URL(response.headers.get('location') as string).searchParams
  }

  async code(who: Asked, choice: Partial<GrantDecision> = {}): Promise<string> {
    return (await this.answered(who, choice)).get('code') as string
  }

  token<T = Refused>(form: Record<string, string>): Promise<Answer<T>> {
    return call(this.t, 'POST', '/oauth/token', new URLSearchParams(form).toString(), {
      'content-type': 'application/x-www-form-urlencoded',
      ...network(),
    })
  }

  exchange<T = Refused>(code: string, more: Record<string, string> = {}): Promise<Answer<T>> {
    return this.token({
      grant_type: 'authorization_code',
      code,
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      code_verifier: this.verifier,
      ...more,
    })
  }

  refresh<T = Tokens>(refreshToken: string): Promise<Answer<T>> {
    return this.token({ grant_type: 'refresh_token', refresh_token: refreshToken, client_id: this.clientId })
  }

  async tokens(who: Asked, choice: Partial<GrantDecision> = {}): Promise<Tokens> {
    const { status, body } = await this.exchange<Tokens>(await this.code(who, choice))
    expect(status).toBe(200)
    return body
  }
}

/** Calls the MCP endpoint once, without a connection. The answer may come as the one event of a stream. */
export async function rpc(t: TestApp, token: string | undefined, method: string, params: object = {}, path = '/mcp') {
  const answer = await call<{ text?: string; result?: Record<string, unknown> }>(
    t,
    'POST',
    path,
    { jsonrpc: '2.0', id: 1, method, params },
    {
      accept: 'application/json, text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  )
  const data = /^data: (.*)$/m.exec(answer.body.text ?? '')?.[1]
  const { result = {} } = (data === undefined ? answer.body : JSON.parse(data)) as { result?: Record<string, unknown> }
  return { ...answer, result }
}

export const toolNames = async (t: TestApp, token: string): Promise<string[]> => {
  const { result } = await rpc(t, token, 'tools/list')
  return (result.tools as { name: string }[]).map(({ name }) => name)
}
