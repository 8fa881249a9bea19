import type { Feature } from '../../feature.ts'
import { listPrompts, readPrompt } from '../../mcp/hooks.ts'
import { removePersonalSkills } from './account.ts'
import * as events from './events.ts'
import { getSkillPrompt, listSkillPrompts } from './prompts.ts'
import { skillRecord } from './record.ts'
import { skillRoutes } from './routes.ts'
import { skillTools } from './tools.ts'

export const skills: Feature = {
  events: Object.values(events),
  routes: skillRoutes,
  tools: skillTools,
  records: [skillRecord],
  hooks: [removePersonalSkills, listPrompts.handle(listSkillPrompts), readPrompt.handle(getSkillPrompt)],
}
