import { listing, tool } from '../../mcp/tool.ts'
import { object, optional, text, time } from '../../schema.ts'
import { type Activity, ActivityCreate, type ActivityItem } from './schema.ts'
import * as activities from './service.ts'

const project = optional(text(100, { minLength: 1, description: 'Id, slug or key' }))
const { type, description, metadata } = ActivityCreate.properties

/** Leaves out the subject, which the description names. */
const line = ({ id, at, type, description, actor }: ActivityItem) => ({ id, at, type, description, actor })

const withoutSubject = ({ subjectId: _, ...activity }: Activity) => activity

export const activityTools = [
  tool({
    name: 'log_activity',
    title: 'Log activity',
    description:
      'Log what no record shows: a deployment, a failed attempt. Changes of records are logged automatically.',
    toolset: 'activity',
    input: object({
      type,
      description,
      metadata,
      project,
      task: optional(text(100, { minLength: 1, description: 'Id or key' })),
    }),
    action: activities.log,
    with: (input) => input,
    show: withoutSubject,
  }),
  tool({
    name: 'list_activities',
    title: 'List activities',
    description: 'List activity of your organization or a project, newest first.',
    toolset: 'activity',
    input: object({
      type: optional(text(100, { description: 'Example: task.completed' })),
      agent: optional(text(100, { minLength: 1, description: 'Id or slug' })),
      project,
      since: optional(time()),
      ...listing,
    }),
    action: activities.list,
    with: ({ agent, project, ...input }) => ({
      limit: 20,
      ...input,
      agentId: agent,
      projectId: project,
      mustExist: true,
    }),
    show: ({ items, ...page }) => ({ items: items.map(line), ...page }),
  }),
  tool({
    name: 'get_activity',
    title: 'Get activity',
    description: 'Get an activity with its metadata.',
    toolset: 'activity',
    input: object({ activity: text(100, { minLength: 1, description: 'Id or id prefix' }) }),
    action: activities.get,
    with: ({ activity }) => ({ ref: activity }),
    show: withoutSubject,
  }),
]
