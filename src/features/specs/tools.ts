import { expectedVersion, listing, project, query, spec } from '../../mcp/arguments.ts'
import { pick, tool } from '../../mcp/tool.ts'
import { int, object, oneOf, optional, text, title } from '../../schema.ts'
import { statuses } from './schema.ts'
import * as specs from './service.ts'

const status = optional(oneOf(statuses))

export const specTools = [
  tool({
    name: 'create_spec',
    title: 'Create spec',
    description: 'Create a technical specification; every change is kept as a version.',
    toolset: 'specs',
    input: object({
      title: title(200),
      content: title(262_144),
      project: optional(project),
      status: optional(oneOf(['draft', 'review', 'approved'])),
    }),
    action: specs.create,
    with: ({ project, ...rest }) => ({ ...rest, projectId: project }),
    show: (spec) => pick(spec, 'slug', 'version'),
  }),
  tool({
    name: 'list_specs',
    title: 'List specs',
    description: 'List specs without their content.',
    toolset: 'specs',
    input: object({ query, project: optional(project), status, ...listing }),
    action: specs.list,
    narrowed: true,
    with: ({ project, query, ...input }) => ({
      limit: 20,
      ...input,
      projectId: project,
      search: query,
      mustExist: true,
      total: true,
    }),
    whole: (ctx, { id }) => specs.get(ctx, { ref: id }),
  }),
  tool({
    name: 'update_spec',
    title: 'Update spec',
    description: 'Write the next version of a spec. expectedVersion is the one you read.',
    toolset: 'specs',
    input: object({
      spec,
      content: optional(title(262_144)),
      title: optional(title(200)),
      status,
      message: optional(text(500, { description: 'What changed and why' })),
      expectedVersion,
    }),
    action: specs.update,
    with: ({ spec, expectedVersion: _, ...patch }) => ({ ref: spec, ...patch }),
    show: (spec) => pick(spec, 'slug', 'status', 'version', 'change'),
  }),
  tool({
    name: 'get_spec',
    title: 'Get spec',
    description: 'Get a spec, current or at a version; diffWith shows the changes since another version.',
    toolset: 'specs',
    input: object({ spec, version: optional(int({ min: 1 })), diffWith: optional(int({ min: 1 })) }),
    action: specs.detail,
    with: ({ spec, ...rest }) => ({ ref: spec, ...rest }),
  }),
]
