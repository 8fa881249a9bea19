import type { SkillItem } from '../../../features/skills/schema.ts'

export const words = {
  title: 'Skills',
  create: 'New skill',
  find: 'Find in skills',
  scope: 'available to',
  none: 'No skills yet',
  noneText: 'A skill is an instruction that agents load when they need it, such as how to review a migration.',
  command: 'tutti skills create "Review a migration" --file review.md',
  noMatch: 'No skill matches these filters.',
} as const

export const scopeNames: Record<SkillItem['scope'], string> = {
  personal: 'Only you',
  team: 'Team',
  public: 'Everyone',
}
