import { type Role, roles } from '../../src/auth/policy.ts'
import { addMember } from '../../src/features/admin/teams.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import { type Person, person, systemCtx, type TestApp, unique } from '../support/app.ts'
import { inside } from './support.ts'

type Others = 'author' | 'other' | 'creator'
/** A person for each role, others who are members too, and a stranger in an organization of their own. */
export type People<Other extends Others> = Record<Role | 'stranger' | Other, Person>

export async function newPeople<Other extends Others>(
  t: TestApp,
  other: Other,
  signIn = (name: string) => person(t, { name }),
): Promise<People<Other>> {
  const names = {
    owner: 'Ada',
    admin: 'Grace',
    member: 'Edsger',
    viewer: 'Barbara',
    [other]: 'Alan',
    stranger: 'Mallory',
  }
  const signedIn = Object.entries(names).map(async ([key, name]) => [key, await signIn(name)] as const)
  return Object.fromEntries(await Promise.all(signedIn)) as People<Other>
}

/** A new team with these people in it, each of whom works in it; the stranger stays outside. */
export async function teamOf<Other extends Others>(
  t: TestApp,
  people: People<Other>,
): Promise<People<Other> & { id: string }> {
  const { owner, stranger } = people
  const { id } = (await owner.fetch<Organization>('POST', '/api/teams', { name: unique('team') })).body
  const join = async ([key, who]: [string, Person]): Promise<[string, Person]> => {
    if (who !== owner && who !== stranger)
      await addMember(systemCtx(t), { id, userId: who.userId, role: roles.find((role) => role === key) ?? 'member' })
    return [key, who === stranger ? who : inside(who, id)]
  }
  return { ...(Object.fromEntries(await Promise.all(Object.entries<Person>(people).map(join))) as People<Other>), id }
}
