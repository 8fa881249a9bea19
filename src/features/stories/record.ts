import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import type { RecordKind } from '../../records/kind.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import { epicDeleted, storyDeleted } from './events.ts'
import { epicSync, storySync } from './sync.ts'
import { epics, stories } from './table.ts'

export const epicRecord: RecordKind<Ctx> = {
  kind: 'epic',
  table: epics,
  title: epics.title,
  scope: 'tasks:read',
  visible: liveOfTeamOrProject(epics),
  deleted: epicDeleted,
  path: sql`'/projects/' || ${epics.projectId} || '/epics/' || ${epics.id}`,
  inBriefs: true,
  search: { text: epics.description },
  sync: epicSync,
}

export const storyRecord: RecordKind<Ctx> = {
  kind: 'story',
  table: stories,
  title: stories.title,
  scope: 'tasks:read',
  visible: liveOfTeamOrProject(stories),
  deleted: storyDeleted,
  path: sql`'/projects/' || ${stories.projectId} || '/epics/' || ${stories.epicId} || '/stories/' || ${stories.id}`,
  inBriefs: true,
  search: { text: stories.description },
  sync: storySync,
}
