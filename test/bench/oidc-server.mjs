/**
 * oidc-provider as an authorization server for public clients, which keeps everything in Postgres: a person who is signed
 * in is asked each time, and agrees at once. Prints where it listens, and knows one client, `bench`.
 */
import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
await pool.query(`create table kept (model text, id text, uid text, grant_id text, payload jsonb, used timestamptz,
  expires timestamptz, primary key (model, id))`)
await pool.query('create index on kept (uid)')
await pool.query('create index on kept (grant_id)')
const query = (name, text, values) => pool.query({ name, text, values })
const payloadOf = ({ rows: [row] }) =>
  row && { ...row.payload, ...(row.used && { consumed: Math.floor(row.used.getTime() / 1000) }) }

/** What the provider asks of a store. */
class Store {
  constructor(model) {
    this.model = model
  }
  upsert(id, payload, seconds) {
    return query(
      'upsert',
      `insert into kept values ($1, $2, $3, $4, $5, null, now() + $6 * interval '1 second')
       on conflict (model, id) do update set payload = excluded.payload, expires = excluded.expires`,
      [this.model, id, payload.uid, payload.grantId, payload, seconds],
    )
  }
  async find(id) {
    return payloadOf(
      await query('find', 'select * from kept where model = $1 and id = $2 and expires > now()', [this.model, id]),
    )
  }
  async findByUid(uid) {
    return payloadOf(
      await query('uid', 'select * from kept where model = $1 and uid = $2 and expires > now()', [this.model, uid]),
    )
  }
  consume(id) {
    return query('use', 'update kept set used = now() where model = $1 and id = $2', [this.model, id])
  }
  destroy(id) {
    return query('destroy', 'delete from kept where model = $1 and id = $2', [this.model, id])
  }
  revokeByGrantId(grantId) {
    return query('revoke', 'delete from kept where grant_id = $1', [grantId])
  }
}

const server = createServer()
await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
const issuer = `http://127.0.0.1:${server.address().port}`
const provider = new Provider(issuer, {
  adapter: Store,
  clients: [
    {
      client_id: 'bench',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['http://127.0.0.1:7777/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
    },
  ],
  pkce: { required: () => true },
  scopes: ['openid', 'offline_access', 'read'],
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: async (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
})
const answer = provider.callback()
server.on('request', async (request, response) => {
  if (!request.url.startsWith('/interaction/')) return answer(request, response)
  const { prompt, params } = await provider.interactionDetails(request, response)
  if (prompt.name === 'login')
    return provider.interactionFinished(
      request,
      response,
      { login: { accountId: 'ada' } },
      { mergeWithLastSubmission: false },
    )
  const grant = new provider.Grant({ accountId: 'ada', clientId: params.client_id })
  grant.addOIDCScope(params.scope)
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
})
console.log(`oidc-provider at ${issuer} `)
