import type { Ctx } from '../src/action.ts'
import * as agents from '../src/features/agents/service.ts'
import type { PlanCreate } from '../src/features/planning/schema.ts'
import * as skills from '../src/features/skills/service.ts'
import { build, type Seeded } from './welcome.ts'

/**
 * Creates projects, notes, a plan and an agent to explore, for an administrator who keeps them beside their own work.
 * They belong to that administrator; no fictional people appear in a real installation.
 */
export async function examples(ctx: Ctx): Promise<Seeded> {
  const parts = [
    await build(
      ctx,
      'Lighthouse API',
      'The public API of a fictional weather service.',
      [
        {
          title: 'Architecture overview',
          tags: ['architecture'],
          content:
            '# Overview\n\nOne Go service, one Postgres, a queue for alerts.\n\nSee [[How we deploy]] and [[Error budget]].',
        },
        {
          title: 'How we deploy',
          tags: ['ops'],
          content: '# Deploy\n\n1. `make release`\n2. Watch the canary for ten minutes ([[Error budget]])\n3. Promote',
        },
        { title: 'Error budget', tags: ['ops', 'policy'], content: '99.9 % a month. When it is spent, features wait.' },
        {
          title: 'Incident 2026-03: stale forecasts',
          tags: ['incident'],
          content: 'A cache key missed the model run. Fixed by adding it; test added.',
        },
      ],
      plan,
    ),
    await build(ctx, 'Mobile app', 'The app that shows the forecasts.', [
      {
        title: 'Offline behaviour',
        tags: ['design'],
        content: 'Show the last forecast with its age. Never an empty screen.',
      },
      {
        title: 'Release checklist',
        tags: ['ops'],
        content: '- [ ] Screenshots\n- [ ] Changelog\n- [ ] [[How we deploy]] for the backend first',
      },
    ]),
  ]
  parts.push(await reviewer(ctx))
  return { made: parts.flatMap((p) => p.made), kept: parts.flatMap((p) => p.kept) }
}

const plan: PlanCreate['epics'] = [
  {
    title: 'Alerts people can rely on',
    stories: [
      {
        title: 'A storm reaches everybody in a minute',
        tasks: [
          { ref: 'queue', title: 'Queue alerts by region', priority: 'high', labels: ['alerts'], estimate: 3 },
          {
            title: 'Retry a phone that does not respond',
            blockedBy: ['queue'],
            labels: ['alerts'],
            acceptance: ['At most three times in ten minutes', 'An alert is never shown twice'],
          },
          { title: 'Measure the time from model run to phone', labels: ['ops'], estimate: 2 },
        ],
      },
      {
        title: 'Nobody is woken for nothing',
        tasks: [
          { ref: 'levels', title: 'Four levels of alert', estimate: 2 },
          { title: 'Quiet hours, except for the highest level', blockedBy: ['levels'] },
        ],
      },
    ],
  },
]

/** Creates a skill, and an agent that has it. */
async function reviewer(ctx: Ctx): Promise<Seeded> {
  const seeded: Seeded = { made: [], kept: [] }
  const name = 'Review a migration'
  let skill = (await skills.list(ctx, { scope: 'team', search: name, limit: 200 })).items.find((s) => s.name === name)
  seeded[skill ? 'kept' : 'made'].push(`skill ${name}`)
  skill ??= await skills.create(ctx, {
    name,
    description: 'Before a schema change is merged',
    content:
      '# Review a migration\n\n1. Old code must run on the new schema.\n2. No lock longer than a second.\n3. Is there a way back?',
    tags: ['review'],
    scope: 'team',
  })
  const found = (await agents.list(ctx, { scope: 'team', search: 'Reviewer', limit: 200 })).items.find(
    (a) => a.name === 'Reviewer',
  )
  seeded[found ? 'kept' : 'made'].push('agent Reviewer')
  if (!found)
    await agents.create(ctx, {
      name: 'Reviewer',
      role: 'Reviews migrations and queries',
      skills: [skill.id],
      scope: 'team',
    })
  return seeded
}
