import { useQuery } from '@tanstack/react-query'
import type { Role } from '../../../auth/policy.ts'
import type { MemberPage } from '../../../features/organizations/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { RowButton } from '../../components/form/row-button.tsx'
import { MailAddress } from '../../components/mail-address.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { ago, day } from '../../lib/times.ts'
import { presenceQuery, useRemoveMember, useSetMemberRole } from './queries.ts'
import { words } from './words.ts'

type Member = MemberPage['items'][number]

interface Props {
  team: string
  me: string
  members: MemberPage
}

export function TeamMembers({ team, me, members: { items, gives } }: Props) {
  const setRole = useSetMemberRole(team)
  const [ask, asked] = useRemoval(useRemoveMember(team), ({ id, name }: Member) => ({
    input: id,
    title: id === me ? words.leaveTitle : words.removeTitle(name),
    text: words.removeText,
    verb: id === me ? words.leave : words.remove,
    cancel: words.cancel,
    // Whoever has left has no team here any more, so the page is loaded again with another one.
    onRemoved: () => id === me && location.assign('/'),
  }))
  return (
    <section className="stack">
      <h2 className="h2">
        {words.members} <span className="soft t12">{items.length}</span>
      </h2>
      {setRole.error && <ProblemBox error={setRole.error} />}
      <div className="sheet tbl">
        <table>
          <thead>
            <tr className="t12 soft">
              <th>{words.columns.name}</th>
              <th>{words.columns.role}</th>
              <th className="hp">{words.columns.here}</th>
              <th className="hp num">{words.columns.since}</th>
              <th>
                <span className="hide">{words.columns.more}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {items.map((member) => (
              <tr key={member.id}>
                <td>
                  <span className="row">
                    <Avatar party={{ type: 'user', id: member.id, name: member.name }} size="m" />
                    <span className="stack who-t">
                      <b className="b5">
                        {member.name} {member.id === me && <span className="flag">{words.you}</span>}
                      </b>
                      <span className="t12 soft">
                        <MailAddress of={member.email} />
                      </span>
                    </span>
                  </span>
                </td>
                <td>
                  <RoleOf member={member} gives={gives} onSet={(role) => setRole.mutate({ userId: member.id, role })} />
                </td>
                <td className="hp">
                  <Here team={team} member={member} />
                </td>
                <td className="hp num soft">{day(member.joinedAt)}</td>
                <td className="num">
                  {member.can.remove === true && (
                    <RowButton
                      label={member.id === me ? words.leave : words.remove}
                      name={member.id === me ? words.leave : words.removeOf(member.name)}
                      onClick={() => ask(member)}
                    />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {asked}
    </section>
  )
}

interface RoleProps {
  member: Member
  gives: readonly Role[]
  onSet(role: Role): void
}

function RoleOf({ member, gives, onSet }: RoleProps) {
  if (member.can.setRole !== true) return words.roles[member.role]
  return (
    <select
      className="input slim"
      aria-label={words.roleOf(member.name)}
      value={member.role}
      onChange={(event) => onSet(event.currentTarget.value as Role)}
    >
      {gives.map((role) => (
        <option key={role} value={role}>
          {words.roles[role]}
        </option>
      ))}
    </select>
  )
}

function Here({ team, member }: { team: string; member: Member }) {
  const seen = useQuery(presenceQuery(team)).data?.find(({ id }) => id === member.id)
  if (!seen) return null
  return (
    <span className="row">
      {seen.status === 'offline'
        ? seen.lastSeenAt && <span className="soft">{words.lastSeen(ago(seen.lastSeenAt))}</span>
        : words.status[seen.status]}
      {seen.agents > 0 && <span className="flag agent">{words.agents(seen.agents)}</span>}
    </span>
  )
}
