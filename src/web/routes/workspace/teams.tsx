import type { FormEvent } from 'react'
import type { TeamAdd, WorkspaceDetail } from '../../../features/workspaces/schema.ts'
import { Select } from '../../components/form/fields.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { RowButton } from '../../components/form/row-button.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { useWorkspaceChange } from './queries.ts'
import { words } from './words.ts'

type Role = TeamAdd['role']
type Team = WorkspaceDetail['teams'][number]
/** A workspace has one owner, and that cannot change. */
const assignableRoles = ['editor', 'viewer'] as const satisfies Role[]

export function WorkspaceTeams({ workspace }: { workspace: WorkspaceDetail }) {
  const { mutate, error, isPending } = useWorkspaceChange(workspace)
  const [ask, asked] = useRemoval(useWorkspaceChange(workspace), (team: Team) => ({
    input: { takeOut: team.id },
    title: words.takeOutTitle(team.name),
    text: words.takeOutText,
    verb: words.takeOut,
    cancel: words.cancel,
  }))
  return (
    <section className="stack">
      <h2 className="h2">
        {words.teams} <span className="soft t12">{workspace.teams.length}</span>
      </h2>
      <p className="soft">{words.teamsAbout}</p>
      {error && <ProblemBox error={error} />}
      <div className="sheet tbl">
        <table>
          <thead>
            <tr className="t12 soft">
              <th>{words.columns.team}</th>
              <th>{words.columns.role}</th>
              <th>
                <span className="hide">{words.columns.more}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {workspace.teams.map((team) => (
              <tr key={team.id}>
                <td>
                  <b className="b5">{team.name}</b>
                </td>
                <td>
                  <RoleOf team={team} onSet={(role) => mutate({ share: { teamId: team.id, role } })} />
                </td>
                <td className="num">
                  {team.can.remove === true && (
                    <RowButton label={words.takeOut} name={words.takeOutOf(team.name)} onClick={() => ask(team)} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {workspace.can.share === true && (
        <AddTeam workspace={workspace} busy={isPending} onAdd={(share) => mutate({ share })} />
      )}
      {asked}
    </section>
  )
}

function RoleOf({ team, onSet }: { team: Team; onSet(role: Role): void }) {
  if (team.can.setRole !== true) return words.roles[team.role]
  return (
    <select
      className="input slim"
      aria-label={words.roleOf(team.name)}
      value={team.role}
      onChange={(event) => onSet(event.currentTarget.value as Role)}
    >
      <RoleOptions />
    </select>
  )
}

export const RoleOptions = () =>
  assignableRoles.map((role) => (
    <option key={role} value={role}>
      {words.roles[role]}
    </option>
  ))

interface AddProps {
  workspace: WorkspaceDetail
  busy: boolean
  onAdd(share: TeamAdd): void
}

function AddTeam({ workspace: { addable }, busy, onAdd }: AddProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const values = new FormData(event.currentTarget)
    onAdd({ teamId: String(values.get('team')), role: String(values.get('role')) as Role })
  }
  if (addable.length === 0) return null
  return (
    <form className="row inviteform" onSubmit={submit}>
      <Select label={words.add} grow name="team" options={addable} />
      <label className="field">
        <span>{words.addRole}</span>
        <select className="input" name="role" defaultValue="editor">
          <RoleOptions />
        </select>
      </label>
      <button type="submit" className="btn" disabled={busy}>
        {words.addTeam}
      </button>
    </form>
  )
}
