import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import { exchangeKey } from './exchange.ts'
import * as keys from './keys.ts'

import {
  ApiKeyCreate,
  ApiKeyCreated,
  ApiKeyPage,
  KeyExchange,
  McpTokenCreate,
  McpTokenCreated,
  McpTokenDetail,
  McpTokenPage,
  McpTokenQuery,
  TokenQuery,
  ToolsetList,
} from './schema.ts'
import * as tokens from './service.ts'

const byId = object({ id: id() })

export const tokenRoutes = (http: Http) =>
  http
    .get('/api/settings/api-keys', ({ ctx, query }) => keys.listKeys(ctx, query), {
      ...on(keys.listKeys, 'Your API keys'),
      query: TokenQuery,
      response: ApiKeyPage,
    })
    .post(
      '/api/settings/api-keys',
      async ({ ctx, body, set }) => respondCreated(set, '/api/settings/api-keys', await keys.createKey(ctx, body)),
      {
        ...on(keys.createKey, 'Create an API key; its value is shown once'),
        body: ApiKeyCreate,
        response: { 201: ApiKeyCreated },
      },
    )
    .delete('/api/settings/api-keys/:id', ({ ctx, params }) => keys.revokeKey(ctx, params), {
      ...on(keys.revokeKey, 'Revoke an API key'),
      params: byId,
      response: Deleted,
    })
    .get('/api/mcp-tokens', ({ ctx, query }) => tokens.listTokens(ctx, query), {
      ...on(tokens.listTokens, 'Your MCP tokens'),
      query: McpTokenQuery,
      response: McpTokenPage,
    })
    .post(
      '/api/mcp-tokens',
      async ({ ctx, body, set }) => respondCreated(set, '/api/mcp-tokens', await tokens.createToken(ctx, body)),
      {
        ...on(tokens.createToken, 'Create an MCP token; its value is shown once'),
        body: McpTokenCreate,
        response: { 201: McpTokenCreated },
      },
    )
    .get('/api/mcp-tokens/:id', ({ ctx, params }) => tokens.getToken(ctx, params), {
      ...on(tokens.getToken, 'Get an MCP token, with the program that uses it and the tools that it lists'),
      params: byId,
      response: McpTokenDetail,
    })
    .get('/api/mcp/toolsets', ({ ctx }) => tokens.listToolsets(ctx, {}), {
      ...on(tokens.listToolsets, 'Toolsets of MCP tokens, and what each costs a model'),
      response: ToolsetList,
    })
    .delete('/api/mcp-tokens/:id', ({ ctx, params }) => tokens.revokeToken(ctx, params), {
      ...on(tokens.revokeToken, 'Revoke an MCP token and end its streams'),
      params: byId,
      response: Deleted,
    })
    .post(
      '/api/auth/api-key-exchange',
      async ({ ctx, body, set }) => respondCreated(set, '/api/settings/api-keys', await exchangeKey(ctx, body)),
      {
        ...on(exchangeKey, 'Exchange e-mail and password for an API key; its value is shown once'),
        body: KeyExchange,
        response: { 201: ApiKeyCreated },
      },
    )
