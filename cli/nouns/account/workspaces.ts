import type { Project } from '../../../src/features/projects/schema.ts'
import type {
  WorkspaceInvite,
  WorkspaceInviteDetail,
  WorkspaceInviteSent,
} from '../../../src/features/workspaces/invite-schema.ts'
import type { Workspace, WorkspaceDetail, WorkspaceTeam } from '../../../src/features/workspaces/schema.ts'
import type { Client } from '../../api/client.ts'
import { findItem, findOwnId, pathTo } from '../../api/reference.ts'
import { recordLines, safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { timeAgo, timeLeft } from '../../terminal/times.ts'
import { type CommandOutput, choice, clearable, flag, many, outputOf, text, type Verb } from '../noun.ts'
import { fetchPages, listOutput, paging, sorting } from '../resource.ts'

const roles = ['owner', 'editor', 'viewer']
const statuses = ['pending', 'accepted', 'declined', 'cancelled', 'expired']

const workspaceOutput = (workspace: Workspace | WorkspaceDetail): CommandOutput =>
  outputOf(
    workspace,
    ...recordLines(
      {
        Workspace: workspace.name,
        Status: workspace.status,
        'Your role': workspace.role,
        Teams: workspace.teams.map(({ name, role }) => `${name} (${role})`).join(', '),
        Projects: workspace.counts.projects,
        Folders: workspace.folders.join(', '),
        Updated: timeAgo(workspace.updatedAt),
        Id: workspace.id,
      },
      workspace.description,
    ),
  )

/** Finds a workspace by name, id or the beginning of its id, also an archived one. */
async function findWorkspaceId(client: Client, ref: string | undefined): Promise<string> {
  const find = (status: string) => findOwnId(client, '/api/workspaces', 'workspace', ref as string, { status })
  return find('active').catch(() => find('archived'))
}
/** Finds a team of the workspace by name or id. */
async function findTeamInWorkspace(client: Client, id: string, ref: string): Promise<string> {
  const { teams } = await client.get<WorkspaceDetail>(pathTo('/api/workspaces/:id', id))
  const found = teams.filter((team) => team.id === ref || team.name.toLowerCase() === ref.toLowerCase())
  if (found.length !== 1)
    throw new Refusal(
      `${found.length === 0 ? 'No team' : 'More than one team'} of this workspace is called ${ref}. ` +
        `Its teams: ${teams.map((team) => `${safeLine(team.name)} ${team.id}`).join(', ')}`,
    )
  return found[0]?.id as string
}
const patchWorkspace = async (client: Client, ref: string | undefined, fields: object): Promise<CommandOutput> =>
  workspaceOutput(
    await client.request<Workspace>('PATCH', pathTo('/api/workspaces/:id', await findWorkspaceId(client, ref)), fields),
  )
/** Finds an invitation in a list by the name of its workspace, its address, or the beginning of its id. */
async function findInviteId(client: Client, path: string, ref: string): Promise<string> {
  const { items } = await fetchPages<WorkspaceInvite>(client, path, { all: true })
  const wanted = ref.toLowerCase()
  const found = items.filter(
    ({ id, email, workspace }) =>
      id === wanted ||
      (ref.length >= 8 && id.startsWith(wanted)) ||
      email.toLowerCase() === wanted ||
      workspace.name.toLowerCase() === wanted,
  )
  if (found.length !== 1)
    throw new Refusal(`${found.length === 0 ? 'No' : 'More than one'} pending invitation matches ${ref}.`)
  return found[0]?.id as string
}

const folders = many('--folder <path>', 'folder that clients show with the workspace', 'folders')
const description = text('-d, --description <text>', 'description; "-" reads standard input')

const workspaceVerbs: Verb[] = [
  {
    name: 'list',
    about: 'List the active workspaces of your teams, last updated first',
    aliases: ['ls'],
    fields: [
      choice('--status <status>', ['active', 'archived']),
      ...sorting('updatedAt', 'createdAt', 'name'),
      ...paging,
    ],
    examples: ['tutti workspaces list', 'tutti workspaces list --status archived'],
    run: async ({ client, fields }) =>
      listOutput(
        await fetchPages<Workspace>(client, '/api/workspaces', fields),
        [
          { title: 'Id', of: (w) => w.id.slice(0, 13) },
          { title: 'Name', of: (w) => w.name, wide: true },
          { title: 'Your role', of: (w) => w.role },
          { title: 'Teams', of: (w) => w.counts.teams },
          { title: 'Projects', of: (w) => w.counts.projects },
        ],
        'No workspaces. Create one: tutti workspaces create "Engines"',
      ),
  },
  {
    name: 'show',
    args: '<workspace>',
    about: 'Show a workspace and its teams',
    examples: ['tutti workspaces show Engines'],
    run: async ({ client, args }) =>
      workspaceOutput(
        await client.get<WorkspaceDetail>(pathTo('/api/workspaces/:id', await findWorkspaceId(client, args[0]))),
      ),
  },
  {
    name: 'projects',
    args: '<workspace>',
    about: 'List the projects in a workspace',
    fields: paging,
    examples: ['tutti workspaces projects Engines'],
    run: async ({ client, args, fields }) =>
      listOutput(
        await fetchPages<Project>(
          client,
          pathTo('/api/workspaces/:id/projects', await findWorkspaceId(client, args[0])),
          fields,
        ),
        [
          { title: 'Key', of: (p) => p.key },
          { title: 'Name', of: (p) => p.name, wide: true },
          { title: 'Visibility', of: (p) => p.visibility },
        ],
        'No projects. Add one: tutti projects share <project> --workspace <workspace>',
      ),
  },
  {
    name: 'create',
    args: '<name>',
    about: 'Create a workspace in your current team',
    fields: [description, folders],
    examples: ['tutti workspaces create Engines'],
    run: async ({ client, args: [name], fields }) =>
      workspaceOutput(await client.post<Workspace>('/api/workspaces', { name, ...fields })),
  },
  {
    name: 'update',
    args: '<workspace>',
    about: 'Update a workspace',
    fields: [text('-t, --name <name>', 'new name'), clearable(description), folders],
    examples: ['tutti workspaces update Engines --name "All engines"'],
    run: ({ client, args, fields }) => patchWorkspace(client, args[0], fields),
  },
  {
    name: 'archive',
    args: '<workspace>',
    about: 'Archive a workspace: other teams can then only read',
    examples: ['tutti workspaces archive Engines'],
    run: ({ client, args }) => patchWorkspace(client, args[0], { status: 'archived' }),
  },
  {
    name: 'restore',
    args: '<workspace>',
    about: 'Make an archived workspace active again',
    examples: ['tutti workspaces restore Engines'],
    run: ({ client, args }) => patchWorkspace(client, args[0], { status: 'active' }),
  },
  {
    name: 'delete',
    args: '<workspace>',
    about: 'Delete a workspace; its projects stay with their teams',
    fields: [flag('-y, --yes', 'confirm the deletion')],
    examples: ['tutti workspaces delete Engines --yes'],
    run: async ({ client, args: [ref], fields }) => {
      const id = await findWorkspaceId(client, ref)
      if (!fields.yes) throw new Refusal(`This deletes the workspace ${ref} for all its teams. Add --yes to confirm.`)
      return outputOf(await client.request('DELETE', pathTo('/api/workspaces/:id', id)), `Deleted ${ref}.`)
    },
  },
]

const teamVerbs: Verb[] = [
  {
    name: 'add',
    args: '<workspace> <team>',
    about: 'Add a team that you administer, or change the role of a team',
    fields: [choice('--role <role>', roles, 'editor')],
    examples: ['tutti workspaces add Engines looms --role viewer'],
    run: async ({ client, args: [ref, team], fields: { role = 'editor' } }) => {
      const id = await findWorkspaceId(client, ref)
      const teamId = await findOwnId(client, '/api/teams', 'team', team as string).catch(() =>
        findTeamInWorkspace(client, id, team as string),
      )
      const added = await client.post<WorkspaceTeam>(pathTo('/api/workspaces/:id/teams', id), { teamId, role })
      return outputOf(added, `${safeLine(added.name)} has the role ${added.role} in ${ref}.`)
    },
  },
  {
    name: 'remove',
    args: '<workspace> <team>',
    about: 'Remove a team and its projects from a workspace, or leave it with your own team',
    aliases: ['leave'],
    examples: ['tutti workspaces remove Engines looms'],
    run: async ({ client, args: [ref, team] }) => {
      const id = await findWorkspaceId(client, ref)
      const own = await findItem<{ id: string }>(client, '/api/teams', 'team', team as string).catch(() => undefined)
      const teamId = own?.id ?? (await findTeamInWorkspace(client, id, team as string))
      const path = pathTo('/api/workspaces/:id/teams/:teamId', id, teamId)
      return outputOf(await client.request('DELETE', path), `Removed ${team} from ${ref}.`)
    },
  },
]

const inviteVerbs: Verb[] = [
  {
    name: 'invite',
    args: '<workspace> <email>',
    about: 'Invite another team, by the e-mail address of a person who administers it',
    fields: [choice('--role <role>', roles, 'editor')],
    examples: ['tutti workspaces invite Engines joan@example.com --role viewer'],
    run: async ({ client, args: [ref, email], fields: { role = 'editor' } }) => {
      const path = pathTo('/api/workspaces/:id/invites', await findWorkspaceId(client, ref))
      const sent = await client.post<WorkspaceInviteSent>(path, { email, role })
      const byHand = sent.mailed ? [] : ['This server sends no mail. Send them this link yourself:', `  ${sent.link}`]
      return outputOf(sent, `Invited ${email}. They find the invitation in their inbox.`, ...byHand)
    },
  },
  {
    name: 'invites',
    args: '[workspace]',
    about: 'List the invitations to a workspace; without a workspace, the invitations that you received',
    fields: [choice('--status <status>', statuses, 'pending'), ...paging],
    examples: ['tutti workspaces invites', 'tutti workspaces invites Engines --status declined'],
    run: async ({ client, args: [ref], fields: { status, ...fields } }) =>
      listOutput(
        ref
          ? await fetchPages<WorkspaceInvite>(
              client,
              pathTo('/api/workspaces/:id/invites', await findWorkspaceId(client, ref)),
              {
                status,
                ...fields,
              },
            )
          : await fetchPages<WorkspaceInvite>(client, '/api/workspace-invites', fields),
        [
          { title: 'Id', of: (i) => i.id.slice(0, 13) },
          { title: 'Workspace', of: (i) => i.workspace.name },
          { title: 'From', of: (i) => i.workspace.organization.name },
          { title: 'To', of: (i) => i.email, wide: true },
          { title: 'Role', of: (i) => i.role },
          { title: 'Status', of: (i) => i.status },
          { title: 'Expires', of: (i) => (i.status === 'pending' ? timeLeft(i.expiresAt) : null) },
        ],
        'No invitations.',
      ),
  },
  {
    name: 'cancel',
    args: '<workspace> <invite>',
    about: 'Cancel a pending invitation, by its address or id',
    examples: ['tutti workspaces cancel Engines joan@example.com'],
    run: async ({ client, args: [ref, invite] }) => {
      const id = await findWorkspaceId(client, ref)
      const inviteId = await findInviteId(client, pathTo('/api/workspaces/:id/invites', id), invite as string)
      const path = pathTo('/api/workspaces/:id/invites/:inviteId', id, inviteId)
      return outputOf(await client.request('DELETE', path), 'Cancelled the invitation.')
    },
  },
  {
    name: 'accept',
    args: '<invite> [team]',
    about: 'Accept an invitation for a team that you administer (default: the only one)',
    examples: ['tutti workspaces accept Engines looms'],
    run: async ({ client, args: [invite, team] }) => {
      const id = await findInviteId(client, '/api/workspace-invites', invite as string)
      const { teams } = await client.get<WorkspaceInviteDetail>(pathTo('/api/workspace-invites/:id', id))
      if (team === undefined && teams.length !== 1)
        throw new Refusal(
          teams.length === 0
            ? 'You administer no team that can join.'
            : `Name the team that joins: ${teams.map(({ name }) => safeLine(name)).join(', ')}`,
        )
      const teamId = team === undefined ? teams[0]?.id : await findOwnId(client, '/api/teams', 'team', team)
      const joined = await client.post<WorkspaceTeam>(pathTo('/api/workspace-invites/:id/accept', id), { teamId })
      return outputOf(joined, `${safeLine(joined.name)} joined the workspace as ${joined.role}.`)
    },
  },
  {
    name: 'decline',
    args: '<invite>',
    about: 'Decline an invitation',
    examples: ['tutti workspaces decline Engines'],
    run: async ({ client, args: [invite] }) => {
      const id = await findInviteId(client, '/api/workspace-invites', invite as string)
      return outputOf(await client.post(pathTo('/api/workspace-invites/:id/decline', id)), 'Declined the invitation.')
    },
  },
]

export const verbs: Verb[] = [...workspaceVerbs, ...teamVerbs, ...inviteVerbs]
