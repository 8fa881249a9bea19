import type { Ctx } from '../src/action.ts'
import * as notes from '../src/features/notes/service.ts'
import type { PlanCreate } from '../src/features/planning/schema.ts'
import { createPlan } from '../src/features/planning/service.ts'
import * as projects from '../src/features/projects/service.ts'

/** Seeds call actions as users, so every rule applies to them. Running them again changes nothing. */
export interface Seeded {
  made: string[]
  kept: string[]
}

/** Creates what a new instance starts with: a project to try things in, with two notes. */
export async function welcome(ctx: Ctx): Promise<Seeded> {
  return build(ctx, 'Getting started', 'A place to try things. Archive it when you are done.', [
    {
      title: 'Welcome to Tutti',
      tags: ['welcome'],
      content:
        'Tutti stores the plan, the memory and the rules of your work, for people and agents.\n\nNext: [[Connect an agent]].',
    },
    {
      title: 'Connect an agent',
      tags: ['welcome', 'mcp'],
      content:
        'Create an MCP token and add `/mcp` to your client; the manual page "Agents" shows how.\n\nBack to [[Welcome to Tutti]].',
    },
  ])
}

interface SeedNote {
  title: string
  content: string
  tags: string[]
}

/** Creates what is missing of a project and its notes. The plan comes only with a new project. */
export async function build(
  ctx: Ctx,
  name: string,
  description: string,
  wanted: SeedNote[],
  epics?: PlanCreate['epics'],
): Promise<Seeded> {
  const seeded: Seeded = { made: [], kept: [] }
  const listed = [
    await projects.list(ctx, { search: name, limit: 200 }),
    await projects.list(ctx, { search: name, limit: 200, status: 'archived' }),
  ]
  let project = listed.flatMap((page) => page.items).find((p) => p.name === name)
  const outcome = seeded[project ? 'kept' : 'made']
  outcome.push(`project ${name}`)
  if (epics) outcome.push(`plan of ${name}`)
  if (!project) {
    project = await projects.create(ctx, { name, description })
    if (epics) await createPlan(ctx, { ref: project.id, epics })
  }
  const existing = await notes.list(ctx, { projectId: project.id, limit: 200 })
  for (const note of wanted) {
    if (existing.items.some((n) => n.title === note.title)) {
      seeded.kept.push(`note ${note.title}`)
      continue
    }
    await notes.create(ctx, { ...note, projectId: project.id })
    seeded.made.push(`note ${note.title}`)
  }
  return seeded
}
