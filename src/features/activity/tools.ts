import type { Ctx } from '../../action.ts'
import { isHandLogged } from '../../events/catalogue.ts'
import { agent, anyObject, listing, project, reference, since, task } from '../../mcp/arguments.ts'
import { feedLine, pick, tool } from '../../mcp/tool.ts'
import { type RecordNames, shortNames } from '../../records/short-names.ts'
import { object, optional, text } from '../../schema.ts'
import { type Activity, ActivityCreate, type ActivityItem, type ActivityPage } from './schema.ts'
import * as activities from './service.ts'

const { type, description, metadata } = ActivityCreate.properties

/**
 * An activity as a line. The description names the subject. Only activities that were logged by hand have an id,
 * because `get_activity` returns nothing more about the others.
 */
const activityLine = (activity: ActivityItem, ids: RecordNames): string =>
  isLogged(activity) ? `${ids.get(activity.id)} ${activity.type} ${feedLine(activity)}` : feedLine(activity)

const isLogged = ({ type }: ActivityItem): boolean => isHandLogged(type)

async function asLines({ items, ...page }: ActivityPage, _: unknown, ctx: Ctx) {
  const logged = items.filter(isLogged).map(({ id }) => id)
  const ids = await shortNames(ctx, 'activity', logged)
  return { items: items.map((activity) => activityLine(activity, ids)), ...page }
}

const withoutSubject = ({ subjectId: _, path: __, ...activity }: Activity) => activity

export const activityTools = [
  tool({
    name: 'log_activity',
    title: 'Log activity',
    description: 'Log what no record shows, such as a deployment. Changes of records are logged already.',
    toolset: 'activity',
    input: object({
      type,
      description,
      metadata,
      project: optional(project),
      task: optional(task),
    }),
    listedAs: { type: text(60, { description: 'A lower-case word of your own' }), metadata: anyObject },
    action: activities.log,
    with: (input) => input,
    show: (activity) => pick(activity, 'id'),
  }),
  tool({
    name: 'list_activities',
    title: 'List activities',
    description: 'List activity, newest first.',
    toolset: 'activity',
    input: object({
      type: optional(text(100, { description: 'Such as task.completed' })),
      agent: optional(agent),
      project: optional(project),
      since,
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
    show: asLines,
  }),
  tool({
    name: 'get_activity',
    title: 'Get activity',
    description: 'Get an activity with its metadata.',
    toolset: 'activity',
    input: object({ activity: reference }),
    action: activities.get,
    with: ({ activity }) => ({ ref: activity }),
    show: withoutSubject,
  }),
]
