import { id, object } from '../../schema.ts'
import { ProjectRef } from '../projects/schema.ts'

/** Nested paths: each id must belong to the id before it. */
export const InEpic = object({ ...ProjectRef.properties, epicId: id() })
export const InStory = object({ ...InEpic.properties, storyId: id() })

export const epicsPath = '/api/projects/:slug/epics'
export const storiesPath = `${epicsPath}/:epicId/stories` as const

export const fillPath = (path: string, params: Record<string, string>): string =>
  path.replace(/:(\w+)/g, (_all, name: string) => encodeURIComponent(params[name] as string))
