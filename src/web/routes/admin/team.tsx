/** One team as administrators of the instance see it, without being its members. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { Role } from '../../../auth/policy.ts'
import type { AdminTeamDetail } from '../../../features/admin/schema.ts'
import { Confirm } from '../../components/form/confirm.tsx'
import { Field, Select } from '../../components/form/fields.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { RowButton } from '../../components/form/row-button.tsx'
import { MailAddress } from '../../components/mail-address.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { day } from '../../lib/times.ts'
import { AdminFrame, AdminRecord, DataTable, FactList } from './parts.tsx'
import {
  addMember,
  changeTeam,
  removeMember,
  removeTeam,
  setMemberRole,
  setPlan,
  teamQuery,
  useAdminChange,
} from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/admin/teams/$id')
const w = words.team

export function TeamPage() {
  const { id } = route.useParams()
  return (
    <AdminRecord at="teams" query={useQuery(teamQuery(id))}>
      {(team) => <TeamDetails team={team} />}
    </AdminRecord>
  )
}

interface Props {
  team: AdminTeamDetail
}

function TeamDetails({ team }: Props) {
  const [removing, setRemoving] = useState(false)
  useCrumbs({ label: words.sections.teams, to: '/admin/teams' }, { label: team.name })
  return (
    <AdminFrame at="teams" title={team.name}>
      <FactList
        of={[
          [w.slug, team.slug],
          [w.kind, team.personal ? words.teams.personal : words.teams.team],
          [w.members, team.members],
          [w.projects, team.projects],
          [w.since, day(team.createdAt)],
        ]}
      />
      <Members team={team} />
      <div className="two agentcols">
        <Details team={team} />
        <Plan team={team} />
      </div>
      {team.can.remove === true && (
        <p>
          <button type="button" className="btn danger" onClick={() => setRemoving(true)}>
            {w.removeTeam}
          </button>
        </p>
      )}
      {removing && <DeleteTeamDialog team={team} onClose={() => setRemoving(false)} />}
    </AdminFrame>
  )
}

/** Reads the fields of a form as texts. */
const read = (event: FormEvent<HTMLFormElement>): Record<string, string> => {
  event.preventDefault()
  const fields = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value).trim()])
  return Object.fromEntries(fields)
}

function Details({ team: { id, version, name, description } }: Props) {
  const save = useAdminChange(changeTeam)
  return (
    <form
      className="sheet pad stack s4"
      onSubmit={(event) => {
        const { name = '', description } = read(event)
        save.mutate({ id, version, name, description: description || null })
      }}
    >
      <h2 className="h2">{w.details}</h2>
      <Field label={w.name} name="name" required maxLength={100} defaultValue={name} />
      <Field label={w.description} name="description" maxLength={2000} defaultValue={description ?? ''} />
      {save.error && <ProblemBox error={save.error} />}
      <Save verb={w.save} busy={save.isPending} done={save.isSuccess} />
    </form>
  )
}

const Save = ({ verb, busy, done }: { verb: string; busy: boolean; done: boolean }) => (
  <p className="row">
    <button type="submit" className="btn" disabled={busy}>
      {verb}
    </button>
    <span className="soft t12" role="status">
      {done && w.saved}
    </span>
  </p>
)

/** Plans are set through one of the owners. */
function Plan({ team: { id, plan, planStatus, owners } }: Props) {
  const save = useAdminChange(setPlan)
  const [owner] = owners
  if (!owner) return null
  return (
    <form
      className="sheet pad stack s4"
      onSubmit={(event) => {
        const { plan = '', status } = read(event)
        save.mutate({ userId: owner.id, organizationId: id, plan, status: status as typeof planStatus })
      }}
    >
      <h2 className="h2">{w.plan}</h2>
      <Field label={w.plan} name="plan" required maxLength={40} pattern="[a-z0-9](-?[a-z0-9])*" defaultValue={plan} />
      <Select
        label={w.planStatus}
        name="status"
        defaultValue={planStatus}
        options={Object.entries(w.plans).map(([status, name]) => ({ value: status, label: name }))}
      />
      {save.error && <ProblemBox error={save.error} />}
      <Save verb={w.savePlan} busy={save.isPending} done={save.isSuccess} />
    </form>
  )
}

function Members({ team }: Props) {
  const setRole = useAdminChange(setMemberRole)
  const remove = useAdminChange(removeMember)
  const [ask, asked] = useRemoval(remove, ({ id, name }: AdminTeamDetail['people'][number]) => ({
    input: { team: team.id, userId: id },
    title: w.removeTitle(name),
    text: w.removeText,
    verb: w.remove,
    cancel: words.cancel,
  }))
  const columns = w.columns
  return (
    <section className="stack">
      <h2 className="h2">{w.members}</h2>
      {setRole.error && <ProblemBox error={setRole.error} />}
      <DataTable
        items={team.people}
        columns={[
          {
            title: columns.name,
            of: ({ id, name, email }) => (
              <span className="stack who-t">
                <Link className="b5 link" to="/admin/users/$id" params={{ id }}>
                  {name}
                </Link>
                <span className="t12 soft">
                  <MailAddress of={email} />
                </span>
              </span>
            ),
          },
          {
            title: columns.role,
            of: ({ id, name, role }) => (
              <select
                className="input slim"
                aria-label={w.roleOf(name)}
                value={role}
                onChange={({ currentTarget: { value } }) =>
                  setRole.mutate({ team: team.id, userId: id, role: value as Role })
                }
              >
                {words.roles.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            ),
          },
          { title: columns.since, of: ({ joinedAt }) => day(joinedAt), wide: true },
          {
            title: columns.act,
            acts: true,
            of: (member) => <RowButton label={w.remove} name={w.removeOf(member.name)} onClick={() => ask(member)} />,
          },
        ]}
      />
      <AddMemberForm team={team.id} />
      {asked}
    </section>
  )
}

function AddMemberForm({ team }: { team: string }) {
  const add = useAdminChange(addMember)
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        const form = event.currentTarget
        const { email = '', role } = read(event)
        add.mutate({ team, email, role: role as Role }, { onSuccess: () => form.reset() })
      }}
    >
      <div className="row inviteform">
        <Field label={w.addEmail} grow name="email" type="email" required maxLength={254} autoComplete="off" />
        <label className="field">
          <span>{w.addRole}</span>
          <select className="input" name="role" defaultValue="member">
            {words.roles.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <button type="submit" className="btn" disabled={add.isPending}>
          {w.add}
        </button>
      </div>
      {add.error && <ProblemBox error={add.error} />}
      <p className="soft t12" role="status">
        {add.data && w.added(add.data.name)}
      </p>
    </form>
  )
}

/** It cannot be undone here, so its name is typed first. */
function DeleteTeamDialog({ team, onClose }: Props & { onClose(): void }) {
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  // The page is being left: reading the team again would show that it is gone.
  const remove = useAdminChange(removeTeam, 'teams')
  const done = () => {
    toast({ title: w.teamRemoved(team.name) })
    void navigate({ to: '/admin/teams' })
  }
  return (
    <Confirm
      title={w.removeTeamTitle(team.name)}
      verb={w.removeTeam}
      cancel={words.cancel}
      busy={remove.isPending || typed.trim() !== team.name}
      error={remove.error}
      onConfirm={() => remove.mutate(team, { onSuccess: done })}
      onClose={onClose}
    >
      <p>{w.removeTeamText}</p>
      <Field label={w.name} value={typed} onText={setTyped} />
    </Confirm>
  )
}
