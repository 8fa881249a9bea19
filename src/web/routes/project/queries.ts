import { queryOptions } from '@tanstack/react-query'
import type { ProjectActivity, ProjectDetail, ProjectPatch, ProjectShare } from '../../../features/projects/schema.ts'
import { activities, decisions, features, ok, planning, projects, sessions, stories, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

export const projectQuery = (slug: string) =>
  queryOptions({ queryKey: ['projects', 'one', slug], queryFn: () => ok(projects.projects({ slug }).get()) })

export const progressQuery = (slug: string, days: number) =>
  queryOptions({
    queryKey: ['progress', slug, days],
    queryFn: () => ok(planning.projects({ slug }).progress.get({ query: { days } })),
  })

export const epicsQuery = (slug: string) =>
  queryOptions({
    queryKey: ['epics', slug],
    queryFn: () => ok(stories.projects({ slug }).epics.get({ query: { open: true, limit: 8, total: true } })),
  })

export const gatesQuery = (slug: string) =>
  queryOptions({
    queryKey: ['features', slug, 'gates'],
    queryFn: () => ok(features.projects({ slug }).features.get({ query: { atGate: true, limit: 5, total: true } })),
  })

export const projectDecisionsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['decisions', 'of', projectId],
    queryFn: () => ok(decisions.decisions.get({ query: { projectId, limit: 4, total: true } })),
  })

const FEED = 8

/** What happened last. The project has brought it along, so it is asked for only when something new has happened. */
export const projectFeedQuery = ({ id, recentActivity }: Pick<ProjectDetail, 'id' | 'recentActivity'>) =>
  queryOptions<Pick<ProjectActivity, 'id' | 'actor' | 'description' | 'at'>[]>({
    queryKey: ['newest', 'of', id],
    queryFn: async () => (await ok(activities.activities.get({ query: { projectId: id, limit: FEED } }))).items,
    initialData: recentActivity?.slice(0, FEED),
  })

export const briefQuery = (projectId: string, budgetTokens: number) =>
  queryOptions({
    queryKey: ['context', projectId, budgetTokens],
    queryFn: () => ok(sessions.context.get({ query: { projectId, budgetTokens } })),
    staleTime: 60_000,
  })

type Change =
  | { update: ProjectPatch }
  | { share: ProjectShare }
  | { moveTo: string }
  | { act: 'archive' | 'restore' | 'remove' | 'unshare' }

/** Changes a project, as its reader saw it. */
export const useProjectChange = (project: Pick<ProjectDetail, 'id' | 'version'>) =>
  useWrite(
    async (what: Change): Promise<void> => {
      const one = projects.projects({ slug: project.id })
      const how = writeOptions(project.version)
      if ('update' in what) await ok(one.put(what.update, how))
      else if ('moveTo' in what) await ok(one.patch({ organizationId: what.moveTo }, how))
      else if ('share' in what) await ok(one.share.post(what.share, how))
      else if (what.act === 'archive') await ok(one.archive.post(undefined, how))
      else if (what.act === 'restore') await ok(one.restore.post(undefined, writeOptions()))
      else if (what.act === 'unshare') await ok(one.share.delete(undefined, how))
      else await ok(one.delete(undefined, how))
    },
    ['projects'],
  )
