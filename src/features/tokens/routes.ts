import { created, type Http, on } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import { exchangeKey } from './exchange.ts'
import {
  ApiKeyCreate,
  ApiKeyCreated,
  ApiKeyPage,
  KeyExchange,
  McpTokenCreate,
  McpTokenCreated,
  McpTokenPage,
  TokenQuery,
} from './schema.ts'
import * as tokens from './service.ts'

const byId = object({ id: id() })

export const tokenRoutes = (http: Http) =>
  http
    .get('/api/settings/api-keys', ({ ctx, query }) => tokens.listKeys(ctx, query), {
      ...on(tokens.listKeys, 'Your API keys'),
      query: TokenQuery,
      response: ApiKeyPage,
    })
    .post(
      '/api/settings/api-keys',
      async ({ ctx, body, set }) => created(set, '/api/settings/api-keys', await tokens.createKey(ctx, body)),
      {
        ...on(tokens.createKey, 'Create an API key; its value is shown once'),
        body: ApiKeyCreate,
        response: { 201: ApiKeyCreated },
      },
    )
    .delete('/api/settings/api-keys/:id', ({ ctx, params }) => tokens.revokeKey(ctx, params), {
      ...on(tokens.revokeKey, 'Revoke an API key'),
      params: byId,
      response: Deleted,
    })
    .get('/api/mcp-tokens', ({ ctx, query }) => tokens.listTokens(ctx, query), {
      ...on(tokens.listTokens, 'Your MCP tokens'),
      query: TokenQuery,
      response: McpTokenPage,
    })
    .post(
      '/api/mcp-tokens',
      async ({ ctx, body, set }) => created(set, '/api/mcp-tokens', await tokens.createToken(ctx, body)),
      {
        ...on(tokens.createToken, 'Create an MCP token; its value is shown once'),
        body: McpTokenCreate,
        response: { 201: McpTokenCreated },
      },
    )
    .delete('/api/mcp-tokens/:id', ({ ctx, params }) => tokens.revokeToken(ctx, params), {
      ...on(tokens.revokeToken, 'Revoke an MCP token and end its streams'),
      params: byId,
      response: Deleted,
    })
    .post(
      '/api/auth/api-key-exchange',
      async ({ ctx, body, set }) => created(set, '/api/settings/api-keys', await exchangeKey(ctx, body)),
      {
        ...on(exchangeKey, 'Exchange e-mail and password for an API key; its value is shown once'),
        body: KeyExchange,
        response: { 201: ApiKeyCreated },
      },
    )
