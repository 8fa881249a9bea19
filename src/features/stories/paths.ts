import { id, object } from '../../schema.ts'
import { ProjectRef } from '../projects/schema.ts'

/** The nested paths, where each id must belong to the id before it. */
export const InEpic = object({ ...ProjectRef.properties, epicId: id() })
export const InStory = object({ ...InEpic.properties, storyId: id() })

export const epicsPath = '/api/projects/:slug/epics'
export const storiesPath = `${epicsPath}/:epicId/stories` as const

/** Fills in the parameters of a path. */
export const at = (path: string, params: Record<string, string>): string =>
  path.replace(/:(\w+)/g, (_all, name: string) => encodeURIComponent(params[name] as string))
