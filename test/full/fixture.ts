import {
  createRequestStateCodec,
  inputRequired,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { newServer } from '../../src/mcp/protocol.ts'

/** The named tools, prompts and resources that the official conformance suite asks for, behind our own HTTP layer. */
type Ctx = ServerContext
type Run = (args: Record<string, string>, ctx: Ctx, server: Server) => Promise<object> | object

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='
const say = (text: string) => ({ content: [{ type: 'text', text }] })
const image = { type: 'image', data: PNG, mimeType: 'image/png' }
const embedded = (uri: string, mimeType: string, text: string) => ({
  type: 'resource',
  resource: { uri, mimeType, text },
})
const codec = createRequestStateCodec<{ step: number }>({ key: new Uint8Array(32).fill(7), ttlSeconds: 60 })

const asks = (message: string, properties: Record<string, { type: string }>) => ({
  method: 'elicitation/create' as const,
  params: { message, requestedSchema: { type: 'object' as const, properties, required: Object.keys(properties) } },
})
const name = asks('What is your name?', { name: { type: 'string' } })
const samples = (text: string, maxTokens: number) => ({
  method: 'sampling/createMessage' as const,
  params: { messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }], maxTokens },
})
const roots = { method: 'roots/list' as const, params: {} }
const needs = (inputRequests: object, requestState?: string) =>
  inputRequired({ inputRequests: inputRequests as never, ...(requestState && { requestState }) })
/** An elicitation's answer, if it has the form that was asked for. */
const accepted = (ctx: Ctx, key: string): Record<string, unknown> | undefined => {
  const given = ctx.mcpReq.inputResponses?.[key] as { action?: string; content?: Record<string, unknown> } | undefined
  return given?.action === 'accept' && typeof given.content === 'object' ? given.content : undefined
}

const conditional = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

const stated = async (ctx: Ctx, requests: object, done: string): Promise<object> => {
  const state = ctx.mcpReq.requestState<{ step: number }>()
  const keys = Object.keys(requests)
  if (!state || !keys.every((key) => key in (ctx.mcpReq.inputResponses ?? {})))
    return needs(requests, await codec.mint({ step: 1 }))
  return say(done)
}

const tools = (trigger: () => Promise<unknown>): Record<string, Run> => ({
  test_simple_text: () => say('This is a simple text response for testing.'),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  test_embedded_resource: () => ({
    content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      embedded('test://mixed-content-resource', 'application/json', JSON.stringify({ test: 'data', value: 123 })),
    ],
  }),
  test_tool_with_logging: async (_args, ctx) => {
    for (const said of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await ctx.mcpReq.log('info', said)
      await Bun.sleep(50)
    }
    return say('Logged.')
  },
  test_logging_tool: async (_args, ctx) => {
    await ctx.mcpReq.log('info', 'only for those who asked')
    return say('Logged.')
  },
  test_error_handling: () => ({ isError: true, ...say('This tool intentionally returns an error for testing') }),
  test_tool_with_progress: async (_args, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      await Bun.sleep(50)
    }
    return say('Done.')
  },
  json_schema_2020_12_tool: () => say('Fine.'),
  test_missing_capability: () => {
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
  },
  test_streaming_elicitation: () => needs({ user_name: name }),
  test_trigger_tool_change: async () => {
    await trigger()
    return say('Changed.')
  },
  test_custom_headers: () => say('Headers fit.'),
  test_input_required_result_elicitation: (_args, ctx) => {
    const given = accepted(ctx, 'user_name')?.name
    return typeof given === 'string' ? say(`Hello, ${given}!`) : needs({ user_name: name })
  },
  test_input_required_result_sampling: (_args, ctx) => {
    const given = ctx.mcpReq.inputResponses?.capital_question as { content?: { text?: string } } | undefined
    return given
      ? say(given.content?.text ?? '')
      : needs({ capital_question: samples('What is the capital of France?', 100) })
  },
  test_input_required_result_list_roots: (_args, ctx) => {
    const given = ctx.mcpReq.inputResponses?.client_roots as { roots?: { uri: string }[] } | undefined
    return given ? say(`Roots: ${given.roots?.map((root) => root.uri).join(', ')}`) : needs({ client_roots: roots })
  },
  test_input_required_result_request_state: (_args, ctx) =>
    stated(ctx, { confirm: asks('Please confirm', { ok: { type: 'boolean' } }) }, 'state-ok'),
  test_input_required_result_tampered_state: (_args, ctx) =>
    stated(ctx, { confirm: asks('Please confirm', { ok: { type: 'boolean' } }) }, 'state-ok'),
  test_input_required_result_multiple_inputs: (_args, ctx) =>
    stated(ctx, { user_name: name, greeting: samples('Generate a greeting', 50), client_roots: roots }, 'All there.'),
  test_input_required_result_multi_round: async (_args, ctx) => {
    const step = ctx.mcpReq.requestState<{ step: number }>()?.step
    const { inputResponses = {} } = ctx.mcpReq
    if (step === 2 && 'step2' in inputResponses) return say('Complete.')
    return step === 1 && 'step1' in inputResponses
      ? needs(
          { step2: asks('Step 2: What is your favorite color?', { color: { type: 'string' } }) },
          await codec.mint({ step: 2 }),
        )
      : needs(
          { step1: asks('Step 1: What is your name?', { name: { type: 'string' } }) },
          await codec.mint({ step: 1 }),
        )
  },
  test_input_required_result_capabilities: (_args, ctx) => {
    const can = (ctx.mcpReq as { envelope?: Record<string, unknown> }).envelope?.[
      'io.modelcontextprotocol/clientCapabilities'
    ] as object
    return needs(
      'sampling' in can ? { capital_question: samples('What is the capital of France?', 100) } : { user_name: name },
    )
  },
})

const schemas: Record<string, object> = {
  json_schema_2020_12_tool: conditional,
  test_custom_headers: {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, query: { type: 'string' } },
    required: [],
  },
}

const prompts: Record<string, { arguments?: string[]; get: (args: Record<string, string>, ctx: Ctx) => object }> = {
  test_simple_prompt: { get: () => user({ type: 'text', text: 'This is a simple prompt for testing.' }) },
  test_prompt_with_arguments: {
    arguments: ['arg1', 'arg2'],
    get: ({ arg1, arg2 }) => user({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  },
  test_prompt_with_embedded_resource: {
    arguments: ['resourceUri'],
    get: ({ resourceUri = '' }) =>
      user(embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.'), {
        type: 'text',
        text: 'Please process the embedded resource above.',
      }),
  },
  test_prompt_with_image: { get: () => user(image, { type: 'text', text: 'Please analyze the image above.' }) },
  test_input_required_result_prompt: {
    get: (_args, ctx) => {
      const given = accepted(ctx, 'user_context')
      return given
        ? user({ type: 'text', text: `In the context of ${given.context}` })
        : needs({ user_context: asks('What context should the prompt use?', { context: { type: 'string' } }) })
    },
  },
}
function user(...contents: object[]) {
  return { messages: contents.map((content) => ({ role: 'user', content })) }
}

function read(uri: string): object {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  const contents: Record<string, object> = {
    'test://static-text': { uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
    'test://static-binary': { uri, mimeType: 'image/png', blob: PNG },
    ...(id && {
      [uri]: {
        uri,
        mimeType: 'application/json',
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
      },
    }),
  }
  if (!contents[uri]) throw new ResourceNotFoundError(uri)
  return { contents: [contents[uri]] }
}

const hint = { ttlMs: 1000, cacheScope: 'private' } as const

/** A server for `createMcp`. `trigger` makes the list of tools another one, by the way that the product knows. */
export const fixture =
  (trigger: () => Promise<unknown>): typeof newServer =>
  (_behind, reach) => {
    const run = tools(trigger)
    const server = new Server(
      { name: 'fixture', version: '1' },
      {
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { subscribe: true },
          completions: {},
          logging: {},
        },
        requestState: { verify: codec.verify },
        cacheHints: Object.fromEntries(
          [
            'tools/list',
            'prompts/list',
            'resources/list',
            'resources/templates/list',
            'resources/read',
            'server/discover',
          ].map((m) => [m, hint]),
        ),
      },
    )
    server.setRequestHandler('tools/list', () => ({
      tools: Object.keys(run).map((tool) => ({
        name: tool,
        description: tool,
        inputSchema: (schemas[tool] ?? { type: 'object' }) as { type: 'object' },
      })),
    }))
    server.setRequestHandler('tools/call', async ({ params }, ctx) => {
      const work = run[params.name]
      if (!work) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`)
      return (await work((params.arguments ?? {}) as Record<string, string>, ctx as Ctx, server)) as never
    })
    server.setRequestHandler('prompts/list', () => ({
      prompts: Object.entries(prompts).map(([prompt, { arguments: asked = [] }]) => ({
        name: prompt,
        description: prompt,
        arguments: asked.map((argument) => ({ name: argument, description: argument, required: true })),
      })),
    }))
    server.setRequestHandler('prompts/get', async ({ params }, ctx) => {
      const found = prompts[params.name]
      if (!found) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${params.name}`)
      return found.get(params.arguments ?? {}, ctx as Ctx) as never
    })
    server.setRequestHandler('resources/list', () => ({
      resources: ['test://static-text', 'test://static-binary', 'test://watched-resource'].map((uri) => ({
        uri,
        name: uri,
        description: uri,
      })),
    }))
    server.setRequestHandler('resources/templates/list', () => ({
      resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' }],
    }))
    server.setRequestHandler('resources/read', ({ params }) => read(params.uri) as never)
    server.setRequestHandler('completion/complete', () => ({ completion: { values: ['paris', 'park', 'party'] } }))
    if (reach !== 'listen') {
      server.setRequestHandler('resources/subscribe', () => ({}))
      server.setRequestHandler('resources/unsubscribe', () => ({}))
    }
    return server
  }
