import type { Invite, InviteSent } from '../../../src/features/invites/schema.ts'
import type { Member, Organization, TeamUsage } from '../../../src/features/organizations/schema.ts'
import type { User } from '../../../src/features/users/schema.ts'
import type { Client } from '../../api/client.ts'
import { chooseTeam } from '../../api/profiles.ts'
import { currentTeamId, findOwnId, pathTo } from '../../api/reference.ts'
import { recordLines, safeLine, tableLines } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { timeAgo, timeLeft } from '../../terminal/times.ts'
import { type CommandOutput, choice, clearable, eitherOf, flag, outputOf, text, type Verb } from '../noun.ts'
import { fetchPages, listOutput, paging, sorting } from '../resource.ts'

const teamOutput = (team: Organization): CommandOutput =>
  outputOf(
    team,
    ...recordLines({ Team: team.name, Slug: team.slug, 'Your role': team.role, Id: team.id }, team.description),
  )

/** Returns the id of the team that is named (default: the current one). */
const findTeamId = async (client: Client, ref: string | undefined): Promise<string> =>
  ref === undefined ? currentTeamId(client) : findOwnId(client, '/api/teams', 'team', ref)
/** Finds a member by name, e-mail address or id. */
const findMemberId = async (client: Client, team: string, ref: string): Promise<string> =>
  ref === 'me'
    ? (await client.get<User>('/api/auth/me')).id
    : findOwnId(client, pathTo('/api/teams/:id/members', team), 'member', ref)
const roles = ['owner', 'admin', 'member', 'viewer']

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List your teams',
    aliases: ['ls'],
    fields: [...sorting('name', 'createdAt'), ...paging],
    examples: ['tutti teams list'],
    run: async ({ client, fields }) => {
      const [page, currentId] = await Promise.all([
        fetchPages<Organization>(client, '/api/teams', fields),
        currentTeamId(client),
      ])
      return listOutput(
        page,
        [
          { title: 'Slug', of: (t) => t.slug },
          { title: 'Name', of: (t) => t.name, wide: true },
          { title: 'Your role', of: (t) => t.role },
          { title: 'Current', of: (t) => (t.id === currentId ? 'yes' : null) },
        ],
        'No teams.',
      )
    },
  },
  {
    name: 'show',
    args: '[team]',
    about: 'Show a team (default: the current one)',
    examples: ['tutti teams show', 'tutti teams show engines'],
    run: async ({ client, args }) =>
      teamOutput(await client.get<Organization>(pathTo('/api/teams/:id', await findTeamId(client, args[0])))),
  },
  {
    name: 'use',
    args: '<team>',
    about: 'Choose the team that your commands work with, on this computer',
    examples: ['tutti teams use engines'],
    run: async ({ client, args }) => {
      const team = await client.get<Organization>(pathTo('/api/teams/:id', await findTeamId(client, args[0])))
      await chooseTeam(client.profile as string, team.id)
      return outputOf(
        team,
        `Commands now work with ${safeLine(team.name)}, except in folders that are linked to a project.`,
      )
    },
  },
  {
    name: 'create',
    args: '<name>',
    about: 'Create a team',
    fields: [text('-d, --description <text>', 'description')],
    examples: ['tutti teams create "Analytical Engines"'],
    run: async ({ client, args: [name], fields }) =>
      teamOutput(await client.post<Organization>('/api/teams', { name, ...fields })),
  },
  {
    name: 'update',
    args: '<team>',
    about: 'Update a team',
    fields: [text('-t, --name <name>', 'new name'), clearable(text('-d, --description <text>', 'description'))],
    examples: ['tutti teams update engines --name "Engines"'],
    run: async ({ client, args, fields }) =>
      teamOutput(
        await client.request<Organization>(
          'PATCH',
          pathTo('/api/teams/:id', await findTeamId(client, args[0])),
          fields,
        ),
      ),
  },
  {
    name: 'usage',
    args: '[team]',
    about: 'Show the usage of a team and the limits of its plan (default: the current team)',
    examples: ['tutti teams usage', 'tutti teams usage engines --json'],
    run: async ({ client, args }) => {
      const found = await client.get<TeamUsage>(pathTo('/api/teams/:id/usage', await findTeamId(client, args[0])))
      const lines = tableLines(found.items, [
        { title: 'Limit', of: ({ limit }) => (limit === 'storageMb' ? 'files (MB)' : limit) },
        { title: 'Used', of: ({ used }) => String(used) },
        { title: 'Allowed', of: ({ most }) => String(most ?? 'no limit') },
      ])
      return outputOf(found, `Plan: ${safeLine(found.plan)} (${found.planStatus})`, ...lines)
    },
  },
  {
    name: 'members',
    args: '[team]',
    about: 'List the members of a team (default: the current one)',
    fields: [...sorting('name', 'joinedAt'), ...paging],
    examples: ['tutti teams members', 'tutti teams members engines --json'],
    run: async ({ client, args, fields }) =>
      listOutput(
        await fetchPages<Member>(client, pathTo('/api/teams/:id/members', await findTeamId(client, args[0])), fields),
        [
          { title: 'Name', of: (m) => m.name },
          { title: 'E-mail', of: (m) => m.email, wide: true },
          { title: 'Role', of: (m) => m.role },
        ],
        'No members.',
      ),
  },
  {
    name: 'invite',
    args: '<team> <email>',
    about: 'Invite someone to a team',
    fields: [choice('--role <role>', roles, 'member')],
    examples: ['tutti teams invite engines bob@example.com --role viewer'],
    run: async ({ client, args: [team, email], fields }) => {
      const path = pathTo('/api/teams/:id/invite', await findTeamId(client, team))
      const invite = await client.post<InviteSent>(path, { email, ...fields })
      const byHand = invite.link
        ? ['This server sends no mail. Send them this link yourself; it is shown only once:', `  ${invite.link}`]
        : []
      return outputOf(invite, `Invited ${email}.`, ...byHand, ...(invite.detail ? [invite.detail] : []))
    },
  },
  {
    name: 'invites',
    args: '[team]',
    about: 'List the open invites of a team; without a team, your own',
    fields: paging,
    examples: ['tutti teams invites', 'tutti teams invites engines'],
    run: async ({ client, args: [team], fields }) =>
      listOutput(
        await fetchPages<Invite>(
          client,
          team ? pathTo('/api/teams/:id/invites', await findTeamId(client, team)) : '/api/invites',
          fields,
        ),
        [
          { title: 'Id', of: (i) => i.id.slice(0, 13) },
          { title: 'Team', of: (i) => i.organization.name },
          { title: 'To', of: (i) => i.email, wide: true },
          { title: 'Role', of: (i) => i.role },
          { title: 'Expires', of: (i) => timeLeft(i.expiresAt) },
          { title: 'Sent', of: (i) => timeAgo(i.createdAt) },
        ],
        'No open invites.',
      ),
  },
  {
    name: 'withdraw',
    args: '<team> <invite>',
    about: 'Withdraw an invite',
    examples: ['tutti teams withdraw engines bob@example.com'],
    run: async ({ client, args: [ref, invite] }) => {
      const team = await findTeamId(client, ref)
      const id = await findOwnId(client, pathTo('/api/teams/:id/invites', team), 'invite', invite as string)
      const path = pathTo('/api/teams/:id/invites/:inviteId', team, id)
      return outputOf(await client.request('DELETE', path), 'Withdrew the invite. Its link no longer works.')
    },
  },
  {
    name: 'join',
    args: '<invite>',
    about: 'Accept an invite',
    examples: ['tutti teams join 019a8a7e-5c1f'],
    run: async ({ client, args: [ref] }) => {
      const id = await findOwnId(client, '/api/invites', 'invite', ref as string)
      const joined = await client.post<{ organization?: { name: string } }>(pathTo('/api/invites/:token/accept', id))
      return outputOf(joined, 'You joined the team. Make it the current one: tutti teams use <team>')
    },
  },
  {
    name: 'role',
    args: '<team> <member> <role>',
    about: `Change the role of a member: ${eitherOf(roles)}; admin and owner only in a browser`,
    examples: ['tutti teams role engines bob@example.com viewer'],
    run: async ({ client, args: [ref, who, role] }) => {
      const team = await findTeamId(client, ref)
      const path = pathTo('/api/teams/:id/members/:userId', team, await findMemberId(client, team, who as string))
      return outputOf(await client.request<Member>('PATCH', path, { role }), `${who} now has the role ${role}.`)
    },
  },
  {
    name: 'remove',
    args: '<team> <member>',
    about: 'Remove a member from a team; me: leave the team',
    aliases: ['leave'],
    examples: ['tutti teams remove engines bob@example.com', 'tutti teams remove engines me'],
    run: async ({ client, args: [ref, who] }) => {
      const team = await findTeamId(client, ref)
      const path = pathTo('/api/teams/:id/members/:userId', team, await findMemberId(client, team, who as string))
      return outputOf(await client.request('DELETE', path), `Removed ${who} from the team.`)
    },
  },
  {
    name: 'delete',
    args: '<team>',
    about: 'Delete a team and everything in it',
    fields: [flag('-y, --yes', 'confirm the deletion')],
    examples: ['tutti teams delete engines --yes'],
    run: async ({ client, args: [ref], fields }) => {
      const id = await findTeamId(client, ref)
      if (!fields.yes) throw new Refusal(`This deletes ${ref} and everything in it. Add --yes to confirm.`)
      return outputOf(await client.request('DELETE', pathTo('/api/teams/:id', id)), `Deleted ${ref}.`)
    },
  },
]
