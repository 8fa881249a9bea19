import { expect } from 'bun:test'
import type { Role } from '../../src/auth/policy.ts'
import { addMember } from '../../src/features/admin/teams.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import type { Project, ProjectPage } from '../../src/features/projects/schema.ts'
import type { Workspace, WorkspaceTeam } from '../../src/features/workspaces/schema.ts'
import { type Person, person, sharedApp, systemCtx, unique } from '../support/app.ts'
import { ids, inside, watch } from './support.ts'

/** Teams that share workspaces, for the tests of both sides. */
export const t = watch(await sharedApp())
const named = (name: string) => person(t, { name })
const [owner, admin, member, viewer, mallory] = await Promise.all([
  named('Ada'),
  named('Grace'),
  named('Edsger'),
  named('Barbara'),
  named('Mallory'),
])
/** Owner of every team. */
export const ada = owner
export const people: Record<Role, Person> = { owner, admin, member, viewer }
export const stranger = mallory

export const newTeam = async (name = unique('team')): Promise<Organization> =>
  (await ada.fetch<Organization>('POST', '/api/teams', { name })).body
export const join = (team: { id: string }, who: Person, role: Role) =>
  addMember(systemCtx(t), { id: team.id, userId: who.userId, role })
/** A team of Ada's, with the others in the role of their name. */
export async function fullTeam(): Promise<Organization> {
  const team = await newTeam()
  for (const role of ['admin', 'member', 'viewer'] as const) await join(team, people[role], role)
  return team
}
export const make = async (team: { id: string }, over: object = {}, by = ada): Promise<Workspace> => {
  const made = await by.fetch<Workspace>('POST', `/api/teams/${team.id}/workspaces`, { name: unique('space'), ...over })
  expect(made.status).toBe(201)
  return made.body
}
export const get = (who: Person, { id }: { id: string }) => who.fetch<Workspace>('GET', `/api/workspaces/${id}`)
export const addTeam = (who: Person, space: { id: string }, team: { id: string }, role: WorkspaceTeam['role']) =>
  who.fetch<WorkspaceTeam>('POST', `/api/workspaces/${space.id}/teams`, { teamId: team.id, role })
export const dropTeam = (who: Person, space: { id: string }, team: { id: string }) =>
  who.fetch('DELETE', `/api/workspaces/${space.id}/teams/${team.id}`)
export const newProject = async (team: { id: string }, over: object = {}, by = ada): Promise<Project> => {
  const made = await inside(by, team.id).fetch<Project>('POST', '/api/projects', { name: unique('project'), ...over })
  expect(made.status).toBe(201)
  return made.body
}
export const put = (who: Person, project: { id: string }, workspaceId: string | null, over: object = {}) =>
  who.fetch<Project>('POST', `/api/projects/${project.id}/share`, { workspaceId, ...over })
export const projectsIn = async (who: Person, { id }: { id: string }) =>
  ids((await who.fetch<ProjectPage>('GET', `/api/workspaces/${id}/projects`)).body)
