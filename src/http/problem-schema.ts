import { codes, deviceErrors } from '../errors.ts'

/** How errors are described in OpenAPI. */
export const problemSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What is wrong and what to do' },
    instance: { type: 'string' },
    code: { type: 'string', enum: Object.keys(codes) },
    requestId: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['pointer', 'code', 'message'],
        properties: { pointer: { type: 'string' }, code: { type: 'string' }, message: { type: 'string' } },
      },
    },
    current: { type: 'object', description: 'With 412: the record as it is now' },
    error: { type: 'string', enum: deviceErrors, description: 'With invalid.device: the reason, as named by RFC 8628' },
    subject: {
      type: 'object',
      description: 'With not_found: what was looked for',
      required: ['kind', 'ref'],
      properties: { kind: { type: 'string' }, ref: { type: 'string' } },
    },
    scope: { type: 'string', description: 'With forbidden: the scope that the credential lacks' },
    role: {
      type: 'object',
      description: 'With forbidden: the role that is needed, and the one you have',
      required: ['needed', 'held'],
      properties: { needed: { type: 'string' }, held: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
    },
    missing: {
      type: 'array',
      description: 'With conflict.gate: what the gate still needs',
      items: {
        type: 'object',
        required: ['item', 'needs'],
        properties: { item: { type: 'string' }, needs: { type: 'string' } },
      },
    },
    open: {
      type: 'array',
      description: 'With conflict.acceptance_open: the acceptance criteria that are open',
      items: { type: 'string' },
    },
    held: {
      type: 'object',
      description: 'With conflict.lease_held: who works on the task, and until when',
      required: ['task', 'by', 'lastSeenAt', 'expiresAt'],
      properties: {
        task: { type: 'string' },
        by: { type: 'string' },
        lastSeenAt: { type: 'string', format: 'date-time' },
        expiresAt: { type: 'string', format: 'date-time' },
      },
    },
    ticket: {
      type: 'string',
      description: 'With conflict.confirm_account: for POST /api/auth/confirm-account, in the same browser, once',
    },
    holds: {
      type: 'object',
      description: 'With conflict.confirm_account: how many of each the account has',
      additionalProperties: { type: 'integer' },
    },
    count: { type: 'integer', description: 'How many tasks match now, where a batch expected another number' },
    next: {
      type: 'array',
      description:
        'What you can do next: an MCP tool, a route of this API, a command line, a page to open in a browser',
      items: {
        type: 'object',
        properties: {
          tool: { type: 'string' },
          route: { type: 'string' },
          command: { type: 'string' },
          page: { type: 'string' },
        },
      },
    },
  },
}
