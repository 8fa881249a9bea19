import { addUser, updateProfile } from '../../src/features/accounts/service.ts'
import * as agentActions from '../../src/features/agents/service.ts'
import { accept } from '../../src/features/invites/received.ts'
import * as invites from '../../src/features/invites/service.ts'
import { finishOnboarding } from '../../src/features/onboarding/service.ts'
import * as organizations from '../../src/features/organizations/service.ts'
import * as projects from '../../src/features/projects/service.ts'
import { share } from '../../src/features/projects/sharing.ts'
import * as skills from '../../src/features/skills/service.ts'
import { introduceProgram } from '../../src/features/tokens/agents.ts'
import * as keys from '../../src/features/tokens/keys.ts'
import * as tokens from '../../src/features/tokens/service.ts'
import * as workspaces from '../../src/features/workspaces/service.ts'
import { addTeam } from '../../src/features/workspaces/teams.ts'
import { type AgentName, act, agents, ago, type Moment, type Person, people, type Step } from './script.ts'

/** Creates an account without a password: nobody can sign in as these people, except by the printed link. */
const joins = (at: Moment, who: Person, role: 'user' | 'admin' = 'user'): Step => ({
  at,
  by: 'nobody',
  run: async (ctx, stage) => {
    const { user } = await addUser(ctx, { ...people[who], passwordHash: null, role, emailVerified: true })
    stage.keep(who, user.id)
  },
})

const accepts = (at: Moment, who: Person): Step => act(at, who, accept, (id) => ({ token: id(`invite ${who}`) }))

/** The programs that agents run in, as they introduce themselves. */
const programs: Record<AgentName, { client: string; version: string }> = {
  claude: { client: 'Claude Code', version: '2.1.40' },
  codex: { client: 'Codex', version: '0.61.0' },
  reviewer: { client: 'plain HTTP', version: '1.0' },
}

/** Creates the token that an agent calls with from then on. */
const connects = (at: Moment, who: AgentName, days: number): Step => ({
  at,
  by: agents[who].for,
  run: async (ctx, stage) => {
    const { token } = await tokens.createToken(ctx, {
      name: agents[who].token,
      organizationId: stage.id('northlight'),
      agentId: stage.id(who),
      projectId: stage.id('lantern'),
      expiresInDays: days,
    })
    stage.secrets.set(who, token as string)
    const actor = await stage.app.auth.lookUp(token as string)
    await introduceProgram({ ...ctx, actor }, programs[who])
  },
})

const team: Step[] = [
  joins(ago(38, '08:02'), 'ada', 'admin'),
  {
    at: ago(38, '08:05'),
    by: 'ada',
    run: async (ctx, stage) => {
      const { organization, invites: sent } = await finishOnboarding(ctx, {
        organization: { name: 'Northlight' },
        invites: [
          { email: people.ben.email, role: 'admin' },
          { email: people.chiara.email, role: 'member' },
          { email: people.dana.email, role: 'viewer' },
        ],
      })
      stage.keep('northlight', organization.id)
      for (const [i, who] of (['ben', 'chiara', 'dana'] as const).entries())
        stage.keep(`invite ${who}`, sent[i]?.id as string)
    },
  },
  act(ago(38, '08:09'), 'ada', organizations.update, (id) => ({
    id: id('northlight'),
    description: 'Three people and three agents who make a reading app for small libraries.',
  })),
  act(ago(38, '08:12'), 'ada', updateProfile, {
    bio: 'Leads Lantern. Writes specs before code, and tests before opinions.',
    timezone: 'Europe/Stockholm',
  }),
  joins(ago(38, '09:21'), 'ben'),
  accepts(ago(38, '09:22'), 'ben'),
  joins(ago(38, '10:40'), 'chiara'),
  accepts(ago(38, '10:41'), 'chiara'),
  joins(ago(36, '13:15'), 'dana'),
  accepts(ago(36, '13:16'), 'dana'),
  act(ago(1, '15:02'), 'ben', invites.create, (id) => ({
    id: id('northlight'),
    email: 'emil@northlight.example',
    role: 'member' as const,
  })),
]

const places: Step[] = [
  act(
    ago(38, '08:20'),
    'ada',
    projects.create,
    {
      name: 'Lantern',
      key: 'LAN',
      description: 'A reading app that works without a network, for libraries that share one shelf.',
    },
    'lantern',
  ),
  act(
    ago(37, '09:00'),
    'ben',
    projects.create,
    {
      name: 'Harbour',
      key: 'HAR',
      description: 'The small server that keeps the shelves of a library in step. Open source.',
    },
    'harbour',
  ),
  act(ago(37, '09:03'), 'ben', share, { ref: 'harbour', visibility: 'public' }),
  act(
    ago(6, '14:10'),
    'chiara',
    projects.create,
    { name: 'Field notes', key: 'FN', description: 'Notebooks for librarians who visit schools. An idea so far.' },
    'field-notes',
  ),
  act(
    ago(30, '11:00'),
    'ada',
    organizations.create,
    { name: 'Riverbank Library', description: 'Our first library: eleven branches and one shared shelf.' },
    'riverbank',
  ),
  act(
    ago(30, '11:05'),
    'ada',
    workspaces.create,
    { name: 'Pilot at Riverbank', description: 'What Riverbank sees of our work.', folders: ['lantern/app', 'docs'] },
    'pilot',
  ),
  act(ago(30, '11:06'), 'ada', addTeam, (id) => ({
    id: id('pilot'),
    teamId: id('riverbank'),
    role: 'viewer' as const,
  })),
  act(ago(30, '11:08'), 'ada', share, (id) => ({ ref: 'lantern', workspaceId: id('pilot') })),
  act(ago(3, '16:30'), 'chiara', organizations.create, { name: 'Open Fonts Club' }, 'fonts'),
  act(ago(1, '16:31'), 'chiara', invites.create, (id) => ({ id: id('fonts'), email: people.ada.email })),
]

const skillsAndAgents: Step[] = [
  act(
    ago(37, '10:00'),
    'ada',
    skills.create,
    {
      name: 'Review a migration',
      description: 'Before a change of the schema is merged',
      tags: ['review', 'database'],
      scope: 'team',
      content:
        '# Review a migration\n\n1. The old code must run on the new schema.\n' +
        '2. No lock is held longer than a second.\n3. Say how to go back.\n\nProject: {{project}}. Migration: {{file}}.',
    },
    'skill migration',
  ),
  act(
    ago(36, '10:20'),
    'ben',
    skills.create,
    {
      name: 'Test without a network',
      description: 'How we prove that a feature works offline',
      tags: ['testing', 'offline'],
      scope: 'team',
      content:
        '# Test without a network\n\n' +
        '- Turn the network off in the test, not in the code: `await device.flightMode()`.\n' +
        '- Count the requests that leave the device. The number is zero, not "few".\n' +
        '- Use the fake clock; no test waits for real time.\n- Repeat on the oldest phone in the drawer.',
    },
    'skill offline',
  ),
  act(
    ago(20, '09:40'),
    'chiara',
    skills.create,
    {
      name: 'Write release notes',
      description: 'For people who read books, not code',
      tags: ['docs'],
      scope: 'public',
      content:
        '# Release notes\n\n' +
        'One sentence per change, in words a librarian would use. Say what they can do now that they ' +
        'could not do before. No ticket numbers.\n\nVersion: {{version}}.',
    },
    'skill notes',
  ),
  act(
    ago(37, '10:10'),
    'ada',
    agentActions.create,
    (id) => ({
      name: agents.claude.name,
      role: 'Builds the app with Ada',
      persona: 'Careful with data. Asks before it changes a file format.',
      model: 'claude-sonnet',
      provider: 'anthropic',
      skills: [id('skill migration')],
      scope: 'team',
    }),
    'claude',
  ),
  act(
    ago(36, '10:30'),
    'ben',
    agentActions.create,
    (id) => ({
      name: agents.codex.name,
      role: 'Builds and tests on the build machine',
      model: 'gpt-codex',
      provider: 'openai',
      skills: [id('skill offline')],
      scope: 'team',
    }),
    'codex',
  ),
  act(
    ago(34, '09:05'),
    'ada',
    agentActions.create,
    (id) => ({
      name: agents.reviewer.name,
      role: 'Reads every change before a person does',
      persona: 'Terse. Asks for a test before it gives an opinion.',
      systemPrompt:
        'You review changes of Northlight. Name the file and line. Praise nothing that a linter could check.',
      skills: [id('skill migration'), id('skill offline')],
      memoryScope: 'agent',
      scope: 'team',
    }),
    'reviewer',
  ),
  connects(ago(37, '10:15'), 'claude', 127),
  connects(ago(36, '10:32'), 'codex', 82),
  connects(ago(34, '09:08'), 'reviewer', 108),
  act(
    ago(34, '09:15'),
    'ada',
    agentActions.create,
    { name: 'Claude Code (desktop)', role: 'Wrote notes with Ada until she had the laptop', scope: 'team' },
    'desktop',
  ),
  {
    at: ago(34, '09:20'),
    by: 'ada',
    run: async (ctx, stage) => {
      const { token } = await tokens.createToken(ctx, {
        name: 'old-desktop',
        organizationId: stage.id('northlight'),
        agentId: stage.id('desktop'),
        scopes: ['read', 'notes:write'],
        expiresInDays: 46,
      })
      // Its only use.
      await stage.app.auth.authenticate(token as string)
      await stage.app.auth.flushUsage()
    },
  },
  act(ago(21, '12:00'), 'ada', keys.createKey, (id) => ({
    name: 'Dashboard in the hallway',
    scopes: ['read'],
    organizationId: id('northlight'),
  })),
]

export const cast: Step[] = [...team, ...places, ...skillsAndAgents]
