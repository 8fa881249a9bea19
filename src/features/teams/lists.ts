import { type Ctx, read } from '../../action.ts'
import { switchOrganization } from '../../auth/actor.ts'
import { byRow } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import type { AgentPage, AgentQuery } from '../agents/schema.ts'
import * as agentList from '../agents/service.ts'
import type { ProjectPage, ProjectQuery } from '../projects/schema.ts'
import * as projectList from '../projects/service.ts'
import type { SkillPage, SkillQuery } from '../skills/schema.ts'
import * as skillList from '../skills/service.ts'
import type { FeaturePage, FeatureQuery } from '../workflow/schema.ts'
import * as featureList from '../workflow/service.ts'

/** Returns the context for a team given by its id instead of X-Organization-Id. The called actions check access. */
function inTeamContext(ctx: Ctx, id: string): Ctx {
  if (!ctx.actor.memberships.has(id)) throw notFound('organization', id)
  return { ...ctx, actor: switchOrganization(ctx.actor, id) }
}

type InTeam<Q> = Q & { id: string }

export const listTeamProjects = read(
  'teams.projects',
  byRow('projects:read'),
  async (ctx, { id, ...query }: InTeam<ProjectQuery>): Promise<ProjectPage> =>
    projectList.list(inTeamContext(ctx, id), { ...query, organizationId: id }),
)

export const listTeamFeatures = read(
  'teams.features',
  byRow('features:read'),
  async (ctx, { id, ...query }: InTeam<FeatureQuery>): Promise<FeaturePage> =>
    featureList.list(inTeamContext(ctx, id), { ...query, ofTeam: true }),
)

export const listTeamSkills = read(
  'teams.skills',
  byRow('skills:read'),
  async (ctx, { id, ...query }: InTeam<SkillQuery>): Promise<SkillPage> =>
    skillList.listInTeam(inTeamContext(ctx, id), query),
)

export const listTeamAgents = read(
  'teams.agents',
  byRow('agents:read'),
  async (ctx, { id, ...query }: InTeam<AgentQuery>): Promise<AgentPage> =>
    agentList.listFor(inTeamContext(ctx, id), query),
)
