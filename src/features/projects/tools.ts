import { anyObject, expectedVersion, listing, project, query } from '../../mcp/arguments.ts'
import { feedLine, pick, tool } from '../../mcp/tool.ts'
import { bool, object, oneOf, optional, text, title } from '../../schema.ts'
import { ProjectCreate } from './schema.ts'
import * as projects from './service.ts'

const { description, settings } = ProjectCreate.properties

export const projectTools = [
  tool({
    name: 'create_project',
    title: 'Create project',
    description: 'Create a project. Check list_projects first: it may exist.',
    toolset: 'projects',
    input: object({ name: title(100), description, settings }),
    listedAs: { settings: anyObject },
    derived: { key: 'name', slug: 'name' },
    action: projects.create,
    with: (input) => input,
    show: (project) => pick(project, 'slug', 'key', 'version'),
  }),
  tool({
    name: 'list_projects',
    title: 'List projects',
    description: 'List your projects (default: active ones).',
    toolset: 'projects',
    input: object({ query, status: optional(oneOf(['active', 'archived'])), ...listing }),
    action: projects.list,
    with: ({ query, ...input }) => ({ limit: 20, ...input, search: query, total: true }),
    show: ({ items, ...page }) => ({
      items: items.map(({ key, slug, name, description, status }) => ({
        key,
        slug,
        name,
        description,
        status: status === 'active' ? null : status,
      })),
      ...page,
    }),
  }),
  tool({
    name: 'get_project',
    title: 'Get project',
    description: 'Get a project with its statistics and recent activity.',
    toolset: 'projects',
    input: object({ project }),
    action: projects.get,
    with: ({ project }) => ({ ref: project }),
    // A colour tells an agent nothing.
    show: ({ recentActivity, can: _, color: __, stats, ...project }) => ({
      ...project,
      stats: pick(stats, 'notes', 'tasks', 'tasksDone'),
      recentActivity: recentActivity?.map(feedLine),
    }),
  }),
  tool({
    name: 'update_project',
    title: 'Update project',
    description: 'Change a project. Its slug stays.',
    toolset: 'projects',
    input: object({
      project,
      name: optional(title(100)),
      description: optional(text(10_000)),
      settings,
      expectedVersion: optional(expectedVersion),
    }),
    listedAs: { settings: anyObject },
    action: projects.update,
    with: ({ project, expectedVersion: _, ...patch }) => ({ ref: project, ...patch }),
    show: (project) => pick(project, 'slug', 'version'),
  }),
  tool({
    name: 'archive_project',
    title: 'Archive project',
    description: 'Hide a project and keep its data. restore: true reverses this.',
    toolset: 'projects',
    input: object({ project, restore: optional(bool()) }),
    action: projects.archive,
    with: ({ project, restore }) => ({ ref: project, restore }),
    show: (project) => pick(project, 'slug', 'status', 'version'),
  }),
]
