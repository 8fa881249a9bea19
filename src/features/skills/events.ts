import { define, number, text, texts } from '../../events/catalogue.ts'

const ofSkill = { kind: 'skill', changes: 'prompts', live: true } as const
const shown = { name: text, version: number } as const

export const skillCreated = define('skill.created', { ...ofSkill, says: 'A skill was created', data: shown })
export const skillUpdated = define('skill.updated', {
  ...ofSkill,
  says: 'A skill changed',
  data: { ...shown, fields: texts },
})
export const skillDeleted = define('skill.deleted', { ...ofSkill, says: 'A skill was deleted', data: shown })
export const skillRestored = define('skill.restored', { ...ofSkill, says: 'A skill was restored', data: shown })
